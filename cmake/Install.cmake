# What `cmake --install` puts where others find it: headers, libraries, tools, a
# package for find_package(Meshwright) and one for pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Meshwright)

get_property(libraries GLOBAL PROPERTY MESHWRIGHT_LIBRARIES)
list(REMOVE_ITEM libraries MeshwrightToolSupport) # Of no use outside.
foreach(library ${libraries})
  # MeshwrightPartitioner is Meshwright::Partitioner to others.
  string(REGEX REPLACE "^Meshwright" "" short ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${short})
  target_include_directories(${library} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS ${libraries} EXPORT MeshwrightTargets COMPONENT devel)
install(TARGETS meshwright-c COMPONENT devel)
install(TARGETS meshwright mpmd-opt mpmd-reduce mpmd-lsp-server COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/meshwright ${PROJECT_BINARY_DIR}/meshwright
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT devel
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.inc" PATTERN "*.td"
        PATTERN "CMakeFiles" EXCLUDE)

install(EXPORT MeshwrightTargets NAMESPACE Meshwright:: DESTINATION ${package}
        COMPONENT devel)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/MeshwrightConfig.cmake.in
  ${PROJECT_BINARY_DIR}/MeshwrightConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/MeshwrightConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/MeshwrightConfig.cmake
              ${PROJECT_BINARY_DIR}/MeshwrightConfigVersion.cmake
        DESTINATION ${package} COMPONENT devel)

list(GET MLIR_INCLUDE_DIRS 0 MLIR_INCLUDE)
configure_file(${PROJECT_SOURCE_DIR}/cmake/meshwright-c.pc.in
               ${PROJECT_BINARY_DIR}/meshwright-c.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/meshwright-c.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT devel)
