# What tensor/base records about the build, and the guard that asks the CPU before anything else runs.

# As of the last configuration: asking at every build would compile and link for every commit.
execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} describe --always --dirty --tags
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE ignored)
string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
string(JOIN " " flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${RINGLET_COMPILE_OPTIONS})

set_source_files_properties(tensor/base/build_info.cpp TARGET_DIRECTORY ringlet_base PROPERTIES COMPILE_DEFINITIONS
  "RINGLET_VERSION=\"${PROJECT_VERSION}\";RINGLET_COMMIT=\"${commit}\";RINGLET_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\"\
;RINGLET_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\";RINGLET_FLAGS=\"${flags}\"\
;RINGLET_ARCH=\"${RINGLET_ARCH}\"")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # The last flags of a source file win: plain x86-64, and nothing that a sanitizer would have to set up first.
  set_source_files_properties(tensor/base/cpu_level.cpp TARGET_DIRECTORY ringlet_base PROPERTIES COMPILE_OPTIONS
    "-march=x86-64;-mno-sse3;-mno-bmi;-mno-bmi2;-mno-lzcnt;-mno-movbe;-mno-popcnt;-fno-sanitize=all")
endif()
target_link_options(ringlet_base INTERFACE LINKER:--undefined=ringlet_require_cpu_level)
