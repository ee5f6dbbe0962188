# Configures and builds some targets once more, in a folder of their own.
#   cmake -DSOURCE= -DBUILD= -DPRESET= -DTARGETS= -DGENERATOR= -DCXX= -DARCH= -DWERROR= -P build_again.cmake
execute_process(COMMAND ${CMAKE_COMMAND} --preset ${PRESET} -S ${SOURCE} -B ${BUILD} -G ${GENERATOR} --log-level=NOTICE
                        -DCMAKE_CXX_COMPILER=${CXX} -DRINGLET_ARCH=${ARCH} -DRINGLET_WERROR=${WERROR} -DRINGLET_TESTS=ON
                WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --parallel ${cores} --target ${TARGETS} COMMAND_ERROR_IS_FATAL ANY)
