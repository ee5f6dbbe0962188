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
