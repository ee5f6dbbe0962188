# The installed tree: headers under include/ringlet with the same relative names, one library per layer, and a package file,
# so that a project elsewhere says find_package(ringlet) and links ringlet::dist.
include(CMakePackageConfigHelpers)

set(layers base tensor autograd nn optim collectives checkpoint dist)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ringlet)

list(TRANSFORM layers PREPEND ringlet_ OUTPUT_VARIABLE targets)
install(TARGETS ${targets} EXPORT ringlet ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT ringlet NAMESPACE ringlet:: FILE ringletTargets.cmake DESTINATION ${package_dir}
        COMPONENT development)
install(DIRECTORY tensor autograd nn optim collectives dist DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ringlet COMPONENT development
        FILES_MATCHING PATTERN "*.h")

configure_package_config_file(cmake/ringletConfig.cmake.in ringletConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(ringletConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ringletConfig.cmake ${PROJECT_BINARY_DIR}/ringletConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)
