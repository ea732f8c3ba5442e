# SPDX-License-Identifier: Apache-2.0
# Installs the libraries, the headers, the CLI and what find_package and pkg-config read. The two libraries are exported
# apart, so that users of the shared one need none of the engine's dependencies.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/colonnade)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(DIRECTORY include/colonnade DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
if(COLONNADE_TOOLS)
  install(TARGETS colonnade-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()
install(TARGETS colonnade_shared EXPORT colonnade-shared LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS colonnade_static EXPORT colonnade-static)
set_target_properties(colonnade_private_dependencies PROPERTIES EXPORT_NAME private_dependencies)
install(TARGETS colonnade_private_dependencies EXPORT colonnade-static)
foreach(kind shared static)
  install(EXPORT colonnade-${kind} NAMESPACE colonnade:: DESTINATION ${package_folder})
endforeach()

configure_package_config_file(cmake/colonnadeConfig.cmake.in colonnadeConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(colonnadeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/colonnadeConfig.cmake ${PROJECT_BINARY_DIR}/colonnadeConfigVersion.cmake
  DESTINATION ${package_folder})

# Paths relative to the file itself: the installed tree can move.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
set(static_libraries -lonnx_proto -lprotobuf -lhwloc)
foreach(part "ONEDNN;-ldnnl;${OpenMP_CXX_FLAGS}" "TOOLS;-lfmt;-lxxhash" "REGEX;-lre2" "IMAGES;-lpng;-ljpeg;-ltiff;-lwebp;-lopenjp2")
  list(POP_FRONT part option)
  if(COLONNADE_${option})
    list(APPEND static_libraries ${part})
  endif()
endforeach()
list(JOIN static_libraries " " static_libraries)
configure_file(cmake/colonnade.pc.in colonnade.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/colonnade.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
