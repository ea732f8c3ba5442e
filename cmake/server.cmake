# SPDX-License-Identifier: Apache-2.0
# The server: frontends/server as a library that links the public one; the command line becomes `colonnade serve`.
find_package(Boost 1.74 REQUIRED)  # headers only
find_package(ZLIB REQUIRED)
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson)
find_package(prometheus-cpp CONFIG REQUIRED)
# As archives gRPC and OpenSSL are less than half as large as their libraries: only what the server calls.
option(COLONNADE_ARCHIVES "Link gRPC and OpenSSL from archives, for packages that have all libraries inside" OFF)
if(COLONNADE_ARCHIVES)
  set(library_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
  list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(PKG_CONFIG_ARGN --static)
endif()
find_package(OpenSSL REQUIRED)
pkg_check_modules(grpc REQUIRED IMPORTED_TARGET grpc++)
if(COLONNADE_ARCHIVES)
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${library_suffixes})
  unset(PKG_CONFIG_ARGN)
  get_target_property(archives PkgConfig::grpc INTERFACE_LINK_LIBRARIES)
  list(FILTER archives EXCLUDE REGEX "/lib(dl|m|pthread|re2|rt|z)[.]a$")  # shared with others
  set_target_properties(PkgConfig::grpc PROPERTIES INTERFACE_COMPILE_OPTIONS ""  # -pthread: precompiled headers lack it
    INTERFACE_LINK_LIBRARIES "${archives};PkgConfig::re2;ZLIB::ZLIB")
endif()
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
mark_as_advanced(GRPC_CPP_PLUGIN)

# The messages of frontends/server/proto, included as <grpc_service.pb.h>.
set(COLONNADE_PROTOCOL_FOLDER ${PROJECT_BINARY_DIR}/protocol)
file(MAKE_DIRECTORY ${COLONNADE_PROTOCOL_FOLDER})
set(proto_folder ${PROJECT_SOURCE_DIR}/frontends/server/proto)
set(protocol_sources "")
foreach(name grpc_service model_config health reflection)
  set(generated "")
  foreach(suffix pb.h pb.cc grpc.pb.h grpc.pb.cc)
    list(APPEND generated ${COLONNADE_PROTOCOL_FOLDER}/${name}.${suffix})
  endforeach()
  add_custom_command(OUTPUT ${generated}
    COMMAND protobuf::protoc --proto_path=${proto_folder} --cpp_out=${COLONNADE_PROTOCOL_FOLDER}
      --grpc_out=${COLONNADE_PROTOCOL_FOLDER} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${name}.proto
    DEPENDS ${proto_folder}/${name}.proto ${proto_folder}/model_config.proto VERBATIM)
  list(APPEND protocol_sources ${generated})
endforeach()
add_library(colonnade_protocol STATIC ${protocol_sources})
target_link_libraries(colonnade_protocol PUBLIC protobuf::libprotobuf PkgConfig::grpc)
target_compile_options(colonnade_protocol PRIVATE -Os)  # it copies bytes and is long
target_include_directories(colonnade_protocol SYSTEM PUBLIC ${COLONNADE_PROTOCOL_FOLDER})

file(GLOB page_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/frontends/server/page/*)
colonnade_embed(page_sources embedded_files frontends/server/http/page_file.hpp colonnade::serve::http EmbeddedFile char
  NAME ${page_files})
file(GLOB_RECURSE server_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/frontends/server/*.cpp)
list(FILTER server_sources EXCLUDE REGEX "/grpc/without_clients\\.cpp$")
add_library(colonnade_server STATIC ${server_sources} ${page_sources})
target_link_libraries(colonnade_server PUBLIC colonnade_linked colonnade_image colonnade_protocol Boost::headers OpenSSL::SSL ZLIB::ZLIB
  PkgConfig::simdjson
  nlohmann_json::nlohmann_json fmt::fmt prometheus-cpp::core PRIVATE colonnade_warnings)
target_compile_options(colonnade_server PRIVATE $<$<CONFIG:Release>:-O2>)  # packages are smaller; models run elsewhere
target_include_directories(colonnade_server PUBLIC ${PROJECT_SOURCE_DIR})
target_precompile_headers(colonnade_server PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/frontends/precompiled.hpp>)
colonnade_join(colonnade_server frontends/server frontends/server/grpc frontends/server/http)
target_link_libraries(colonnade-cli PRIVATE colonnade_server)
target_compile_definitions(colonnade-cli PRIVATE COLONNADE_SERVER)
if(COLONNADE_ARCHIVES)
  target_sources(colonnade-cli PRIVATE frontends/server/grpc/without_clients.cpp)
endif()
