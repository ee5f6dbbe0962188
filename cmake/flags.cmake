# Compiler flags of every target of ours, in one place: the interface target ringlet_flags.

# A guard against NaN is only as good as the compiler's respect for NaN, and equal bits on every rank need sums in the order
# that the code says: flags that give up either are refused, wherever they come from.
set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_EXE_LINKER_FLAGS}")
if(CMAKE_BUILD_TYPE)
  string(TOUPPER ${CMAKE_BUILD_TYPE} type)
  string(APPEND flags " ${CMAKE_CXX_FLAGS_${type}}")
endif()
set(refused "-(Ofast|f(fast-math|finite-math-only|unsafe-math-optimizations|associative-math|reciprocal-math))")
if(" ${flags} " MATCHES " (${refused}) ")
  message(FATAL_ERROR "ringlet: ${CMAKE_MATCH_1} is not allowed in the compiler flags: NaN checks would be compiled away and "
                      "ranks would no longer agree to the bit. Remove it from CXXFLAGS or CMAKE_CXX_FLAGS, then delete "
                      "${CMAKE_BINARY_DIR}/CMakeCache.txt and configure again.")
endif()

# No contraction by the compiler's choice: where a fused multiply-add is meant, the code says std::fma, so that the vector
# body and the scalar tail of a loop agree to the bit.
set(RINGLET_COMPILE_OPTIONS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(RINGLET_WERROR)
  list(APPEND RINGLET_COMPILE_OPTIONS -Werror)
endif()
if(RINGLET_ARCH)
  list(APPEND RINGLET_COMPILE_OPTIONS -march=${RINGLET_ARCH})
endif()
if(RINGLET_SANITIZE)
  set(sanitize -fsanitize=${RINGLET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  list(APPEND RINGLET_COMPILE_OPTIONS ${sanitize})
endif()
if(NOT OpenMP_CXX_FOUND)
  list(APPEND RINGLET_COMPILE_OPTIONS -Wno-unknown-pragmas)   # "#pragma omp" is then only a comment
endif()

add_library(ringlet_flags INTERFACE)
target_compile_options(ringlet_flags INTERFACE ${RINGLET_COMPILE_OPTIONS})
target_link_options(ringlet_flags INTERFACE ${sanitize})
target_include_directories(ringlet_flags INTERFACE ${PROJECT_SOURCE_DIR})
