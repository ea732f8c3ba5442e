# SPDX-License-Identifier: Apache-2.0
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Protobuf REQUIRED)
find_package(fmt REQUIRED)
find_package(dnnl REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
find_path(ONNX_INCLUDE_DIR onnx/onnx-ml.pb.h REQUIRED)
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)

add_library(colonnade_private_dependencies INTERFACE)
target_link_libraries(colonnade_private_dependencies INTERFACE
  OpenMP::OpenMP_CXX protobuf::libprotobuf ${ONNX_PROTO_LIBRARY} fmt::fmt DNNL::dnnl nlohmann_json::nlohmann_json PkgConfig::hwloc)
target_include_directories(colonnade_private_dependencies SYSTEM INTERFACE ${ONNX_INCLUDE_DIR})
target_compile_definitions(colonnade_private_dependencies INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)

find_package(CLI11 REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
add_library(colonnade_cli_dependencies INTERFACE)
target_link_libraries(colonnade_cli_dependencies INTERFACE CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json PNG::PNG JPEG::JPEG ZLIB::ZLIB)
