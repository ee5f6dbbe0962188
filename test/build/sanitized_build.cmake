# Configures and builds some test programs with the sanitizers of a preset. Warnings stay warnings: under sanitizers g++ sees uninitialised
# variables where there are none (the main build is where they are errors).
#   cmake -DSOURCE= -DBUILD= -DPRESET= -DTARGETS= -DGENERATOR= -DCXX= -DARCH= -P sanitized_build.cmake
execute_process(COMMAND ${CMAKE_COMMAND} --preset ${PRESET} -S ${SOURCE} -B ${BUILD} -G ${GENERATOR} --log-level=NOTICE
                        -DCMAKE_CXX_COMPILER=${CXX} -DRINGLET_ARCH=${ARCH} -DRINGLET_TESTS=ON
                WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --parallel ${cores} --target ${TARGETS} COMMAND_ERROR_IS_FATAL ANY)
