# Compiler flags of every target of ours, in one place: the interface target ringlet_flags.

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
