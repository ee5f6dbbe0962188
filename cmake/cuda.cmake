# CUDA, where there is a toolkit. The programs never link it: what needs it is in libraries of its own, opened when they run.
#
#   RINGLET_CUDA=AUTO   with CUDA where nvcc is found (default)       ON   an error where it is not       OFF   without
set(RINGLET_CUDA AUTO CACHE STRING "Build the libraries for NVIDIA GPUs: AUTO, ON or OFF")
# The default is one translation to PTX, from which come both the code for sm_90 (H100, H200) and what the driver translates for
# any other GPU from sm_80 on: nothing in the kernels asks for more than compute_80, and a PTX for each takes half as long again.
set(RINGLET_CUDA_ARCHITECTURES "" CACHE STRING "GPUs to compile for, as CMAKE_CUDA_ARCHITECTURES takes them; empty: 80-virtual with sm_90")

set(RINGLET_HAS_CUDA OFF)
if(RINGLET_CUDA AND NOT RINGLET_SANITIZE)   # AUTO and ON are true
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
    if(NVCC)
      set(CMAKE_CUDA_COMPILER ${NVCC})
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  set(architectures "compute_80 and sm_90")
  if(RINGLET_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES ${RINGLET_CUDA_ARCHITECTURES})
    set(architectures ${RINGLET_CUDA_ARCHITECTURES})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)   # what CMake 3.25 does not know of CUDA 13
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit)
    if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt)
      set(RINGLET_HAS_CUDA ON)
    endif()
  endif()
  if(RINGLET_CUDA STREQUAL ON AND NOT RINGLET_HAS_CUDA)
    message(FATAL_ERROR "ringlet: RINGLET_CUDA=ON needs the CUDA toolkit with nvcc and cuBLAS; take AUTO or OFF, or set CUDACXX")
  endif()
endif()
if(RINGLET_HAS_CUDA)
  message(STATUS "ringlet: with CUDA ${CMAKE_CUDA_COMPILER_VERSION}, for ${architectures}")
  set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG")   # of the host's part, which only launches; the device's is optimized in any case
  if(NOT RINGLET_CUDA_ARCHITECTURES)
    string(APPEND CMAKE_CUDA_FLAGS " --generate-code=arch=compute_80,code=[compute_80,sm_90]")
  endif()
  if(CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
  endif()
else()
  message(STATUS "ringlet: without CUDA")
endif()

# --fmad=false: nvcc would fuse a·b + c where it likes, one way in a loop over packs and another in the loop over what is left, and
# an element's bits would depend on where it stands. Now every product and every sum in the code for the device is rounded, also
# when a driver translates it (test/build/rounding_test reads it), and where one rounding is meant, the code says `fused`.
#
# ringlet_cuda_library(NAME sources...): a shared library that programs open at run time. It exports what its sources mark.
function(ringlet_cuda_library name)
  add_library(${name} SHARED ${ARGN})
  target_link_libraries(${name} PRIVATE ringlet::base CUDA::cudart)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--expt-relaxed-constexpr;--diag-suppress=1675>"
                         $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${RINGLET_WERROR}>>:-Werror=all-warnings>)
  # The program has a ringlet::base of its own. A kernel that is nowhere defined ends the build, not a program.
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
  target_compile_definitions(${name} PRIVATE RINGLET_VERSION="${PROJECT_VERSION}")
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()
