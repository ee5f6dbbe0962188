# Options, the libraries that we stand on, and the function that makes a layer.

option(RINGLET_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(RINGLET_FULL "Make the counts of tests as high as they go, and add the tests that take minutes" OFF)
option(RINGLET_SANITIZED_TESTS "Also build a part of the tests with sanitizers, and run it, as tests" OFF)
option(RINGLET_WERROR "Treat warnings as errors" OFF)
option(RINGLET_OPENMP "Use OpenMP for threads inside a rank" ON)
set(RINGLET_ARCH "native" CACHE STRING "CPU level: native, or what -march takes (x86-64-v2, x86-64-v3, x86-64-v4, ...)")
set(RINGLET_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them (address,undefined or thread)")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})   # programs stand directly in the build folder
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
include(refuse_fast_math)

find_program(CCACHE ccache)
if(CCACHE)
  # Without these it refuses to cache what uses a precompiled header, as the tests do.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# What is found here, ringletConfig.cmake finds again for those who link the installed libraries.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenSSL REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
if(RINGLET_OPENMP AND NOT RINGLET_SANITIZE MATCHES thread)   # ThreadSanitizer cannot see the locks inside libgomp
  find_package(OpenMP COMPONENTS CXX)
endif()
include(flags)

# ringlet_layer(NAME GLOB patterns... PUBLIC targets... PRIVATE targets...)
# One static library per folder, ringlet::NAME, made of every .cpp that the patterns find.
function(ringlet_layer name)
  cmake_parse_arguments(ARG "" "" "GLOB;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_GLOB})
  set(include_directories $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/ringlet>)
  if(sources)
    add_library(ringlet_${name} STATIC ${sources})
    target_link_libraries(ringlet_${name} PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:ringlet_flags> ${ARG_PRIVATE})
    target_include_directories(ringlet_${name} PUBLIC ${include_directories})
    target_compile_features(ringlet_${name} PUBLIC cxx_std_20)
  else()   # a room without furniture yet
    add_library(ringlet_${name} INTERFACE)
    target_link_libraries(ringlet_${name} INTERFACE ${ARG_PUBLIC})
    target_include_directories(ringlet_${name} INTERFACE ${include_directories})
  endif()
  add_library(ringlet::${name} ALIAS ringlet_${name})
  set_target_properties(ringlet_${name} PROPERTIES EXPORT_NAME ${name})
endfunction()
