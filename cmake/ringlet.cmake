# Options, compiler flags, and the two functions that every folder uses.

option(RINGLET_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(RINGLET_WERROR "Treat warnings as errors" OFF)
option(RINGLET_OPENMP "Use OpenMP for threads inside a rank" ON)
set(RINGLET_ARCH "native" CACHE STRING "CPU level: native, or what -march takes (x86-64-v3, x86-64-v4, ...)")
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

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenSSL REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
if(RINGLET_OPENMP)
  find_package(OpenMP COMPONENTS CXX)
endif()

# One set of flags for every target of ours. No -ffast-math: guards against NaN must work. No contraction by the compiler's
# choice: where a fused multiply-add is meant, the code says std::fma, so that vector body and scalar tail agree to the bit.
add_library(ringlet_flags INTERFACE)
target_compile_options(ringlet_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -ffp-contract=off -fno-math-errno -fno-trapping-math
  $<$<BOOL:${RINGLET_WERROR}>:-Werror>)
if(RINGLET_SANITIZE)
  target_compile_options(ringlet_flags INTERFACE -fsanitize=${RINGLET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(ringlet_flags INTERFACE -fsanitize=${RINGLET_SANITIZE})
endif()
if(NOT RINGLET_ARCH STREQUAL "")
  target_compile_options(ringlet_flags INTERFACE -march=${RINGLET_ARCH})
endif()
target_include_directories(ringlet_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)

# ringlet_layer(NAME GLOB patterns... PUBLIC targets... PRIVATE targets...)
# One static library per folder, ringlet::NAME, made of every .cpp that the patterns find.
function(ringlet_layer name)
  cmake_parse_arguments(ARG "" "" "GLOB;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_GLOB})
  if(NOT sources)   # a room without furniture yet
    add_library(ringlet_${name} INTERFACE)
    add_library(ringlet::${name} ALIAS ringlet_${name})
    target_link_libraries(ringlet_${name} INTERFACE ${ARG_PUBLIC})
    return()
  endif()
  add_library(ringlet_${name} STATIC ${sources})
  add_library(ringlet::${name} ALIAS ringlet_${name})
  set_target_properties(ringlet_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(ringlet_${name} PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:ringlet_flags> ${ARG_PRIVATE})
  target_include_directories(ringlet_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/ringlet>)
  target_compile_features(ringlet_${name} PUBLIC cxx_std_20)
endfunction()
