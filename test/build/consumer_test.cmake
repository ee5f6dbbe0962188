# Installs the build into a folder of its own, moves that folder, builds test/consumer against it, and runs the
# program alone and as a job of two ranks.
#   cmake -DSOURCE= -DBUILD= -DSCRATCH= -DGENERATOR= -DCXX= -DCXX_FLAGS= -P consumer_test.cmake
file(REMOVE_RECURSE ${SCRATCH})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/first --component development
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${SCRATCH}/first ${SCRATCH}/moved)   # an installed tree must not remember where it was built

file(GLOB_RECURSE package_files ${SCRATCH}/moved/*.cmake)
foreach(file IN LISTS package_files)
  file(READ ${file} text)
  foreach(path ${SOURCE} ${BUILD})
    string(FIND "${text}" "${path}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file}: an installed package must not point into the source or build tree, got ${path}")
    endif()
  endforeach()
endforeach()

execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/test/consumer -B ${SCRATCH}/build -G ${GENERATOR} --log-level=NOTICE
                        -DCMAKE_PREFIX_PATH=${SCRATCH}/moved -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${CXX_FLAGS}
                        -DCMAKE_BUILD_TYPE=Release COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/build/train_a_step COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SOURCE}/test/support/mpirun 60 -np 2 ${SCRATCH}/build/train_a_step COMMAND_ERROR_IS_FATAL ANY)
