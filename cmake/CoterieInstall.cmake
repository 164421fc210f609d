# Install rules: the program, the rooms as static libraries, their headers, and find_package(coterie).
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY COTERIE_ROOMS)
install(TARGETS ${rooms} coterie EXPORT coterieTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT coterieTargets NAMESPACE coterie:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/coterie)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/coterieConfig.cmake.in
  ${PROJECT_BINARY_DIR}/coterieConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/coterie)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/coterieConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/coterieConfig.cmake ${PROJECT_BINARY_DIR}/coterieConfigVersion.cmake ${CMAKE_CURRENT_LIST_DIR}/FindMATIO.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/coterie)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
