# SPDX-License-Identifier: Apache-2.0
# Debian's packages by CPack: colonnade (command, server, unit), libcolonnade0, libcolonnade-dev, colonnade-onnxruntime.
# `./dev deb` makes them.
# Who makes them is named as Debian's tools know it, by DEBFULLNAME and DEBEMAIL.
set(maintainer Colonnade)
set(address colonnade@example.org)
if(DEFINED ENV{DEBFULLNAME})
  set(maintainer $ENV{DEBFULLNAME})
endif()
if(DEFINED ENV{DEBEMAIL})
  set(address $ENV{DEBEMAIL})
endif()
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # `./dev deb` builds what is packed, which is not all
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${maintainer} <${address}>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL command library development onnxruntime)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(debian_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(debian_library libcolonnade${PROJECT_VERSION_MAJOR})
set(about "Colonnade runs a few rows of a tensor at a time through many layers while
they are hot in the cache. Kernels for AMX, AVX-512, AVX2 and plain C++ are
picked at run time.")
# colonnade_debian(COMPONENT PACKAGE SECTION DESCRIPTION): one of the four.
function(colonnade_debian component package section description)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${description}" PARENT_SCOPE)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright ${made_folder}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

find_program(GZIP_PROGRAM gzip)
mark_as_advanced(GZIP_PROGRAM)
if(NOT GZIP_PROGRAM)
  return()  # not where Debian's packages are made
endif()
set(made_folder ${PROJECT_BINARY_DIR}/debian)
configure_file(cmake/debian/changelog.in ${made_folder}/changelog @ONLY)
execute_process(COMMAND ${GZIP_PROGRAM} -9nc ${made_folder}/changelog OUTPUT_FILE ${made_folder}/changelog.Debian.gz)
file(READ frontends/server/deploy/colonnade.service unit)
string(REGEX REPLACE "# cp [^\n]*\n" "" unit "${unit}")
string(REPLACE /usr/local/bin/ /usr/bin/ unit "${unit}")
file(WRITE ${made_folder}/colonnade.service "${unit}")
install(FILES ${made_folder}/colonnade.service DESTINATION lib/systemd/system COMPONENT command EXCLUDE_FROM_ALL)

colonnade_debian(command colonnade science "${about}
This package has the command, its server and a unit of systemd.")
colonnade_debian(library ${debian_library} libs "${about}
This package has the shared library.")
colonnade_debian(development libcolonnade-dev libdevel "${about}
This package has the headers, the static library and what CMake and pkg-config
read.")
colonnade_debian(onnxruntime colonnade-onnxruntime libs "${about}
This package has a library with ONNX Runtime's C interface over Colonnade, in
a folder of its own that programs or LD_LIBRARY_PATH name.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${debian_library} (= ${debian_version})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS
  "libdnnl-dev, libfmt-dev, libhwloc-dev, libjpeg-dev, libonnx-dev, libopenjp2-7-dev, libpng-dev, libprotobuf-dev, \
libre2-dev, libtiff-dev, libwebp-dev, libxxhash-dev")  # for the static library
set(control ${PROJECT_SOURCE_DIR}/cmake/debian)
set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_EXTRA ${control}/postinst ${control}/prerm ${control}/postrm)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${control}/triggers)
include(CPack)
