# SPDX-License-Identifier: Apache-2.0
# What the engine links. Found by file where the package's own CMake files ask for more than the engine needs (oneDNN's
# want OpenCL) or do not exist (ONNX).
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
# fmt and xxHash are libraries where other parts use them anyway, and headers in the engine alone: it then asks its
# users for neither.
if(COLONNADE_TOOLS)
  set(fmt_library fmt::fmt)
  set(xxhash_libraries $<BUILD_INTERFACE:PkgConfig::xxhash> $<INSTALL_INTERFACE:xxhash>)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES PkgConfig::xxhash)
  check_cxx_source_compiles("#include <xxhash.h>
    #include <xxh_x86dispatch.h>
    int main() { return static_cast<int>(XXH3_64bits(\"\", 0)); }" COLONNADE_XXHASH_DISPATCH)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(COLONNADE_XXHASH_DISPATCH)
    set(xxhash_definition COLONNADE_XXHASH_DISPATCH)
  endif()
else()
  set(fmt_library $<BUILD_INTERFACE:fmt::fmt-header-only>)
  set(xxhash_definition XXH_INLINE_ALL)
endif()
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/hash.cpp PROPERTIES COMPILE_DEFINITIONS "${xxhash_definition}")
# The expressions of RegexFullMatch
if(COLONNADE_REGEX)
  pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
  set(regex_libraries $<BUILD_INTERFACE:PkgConfig::re2> $<INSTALL_INTERFACE:re2>)
endif()
# The vectors of kernels/base, where it has an architecture
find_path(XSIMD_INCLUDE_DIR xsimd/xsimd.hpp REQUIRED)
mark_as_advanced(XSIMD_INCLUDE_DIR)
# The formats of src/image
if(COLONNADE_IMAGES)
  find_package(PNG REQUIRED)
  find_package(JPEG REQUIRED)
  find_package(TIFF REQUIRED)
  pkg_check_modules(webp REQUIRED IMPORTED_TARGET libwebp)
  pkg_check_modules(openjpeg REQUIRED libopenjp2)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/image/jpeg2000.cpp PROPERTIES
    COMPILE_OPTIONS "-isystem;${openjpeg_INCLUDE_DIRS}")
  set(image_libraries $<BUILD_INTERFACE:PNG::PNG> $<BUILD_INTERFACE:JPEG::JPEG> $<BUILD_INTERFACE:TIFF::TIFF>
    $<BUILD_INTERFACE:PkgConfig::webp> $<BUILD_INTERFACE:${openjpeg_LINK_LIBRARIES}>
    $<INSTALL_INTERFACE:png> $<INSTALL_INTERFACE:jpeg> $<INSTALL_INTERFACE:tiff> $<INSTALL_INTERFACE:webp>
    $<INSTALL_INTERFACE:openjp2>)
endif()
# oneDNN runs some operators that no kernel of ours does (bench/results); without it the reference does. OpenMP is its.
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  set(onednn_found ON)
endif()
option(COLONNADE_ONEDNN "Run operators without a kernel of ours by oneDNN" ${onednn_found})
if(COLONNADE_ONEDNN AND NOT onednn_found)
  message(FATAL_ERROR "COLONNADE_ONEDNN: there is no oneDNN (dnnl.hpp, libdnnl)")
endif()
if(COLONNADE_ONEDNN)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  set(onednn_libraries OpenMP::OpenMP_CXX $<BUILD_INTERFACE:${DNNL_LIBRARY}> $<INSTALL_INTERFACE:dnnl>)
endif()
find_path(ONNX_INCLUDE_DIR onnx/onnx-ml.pb.h REQUIRED)
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY ONNX_INCLUDE_DIR ONNX_PROTO_LIBRARY)

add_library(colonnade_private_dependencies INTERFACE)
# The static library exports this target: an installed one finds plain libraries by name and needs no headers.
target_link_libraries(colonnade_private_dependencies INTERFACE ${onednn_libraries} protobuf::libprotobuf ${fmt_library}
  $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:PkgConfig::hwloc>
  $<BUILD_INTERFACE:${ONNX_PROTO_LIBRARY}>
  ${regex_libraries} ${xxhash_libraries} ${image_libraries}
  $<INSTALL_INTERFACE:hwloc> $<INSTALL_INTERFACE:onnx_proto>)
target_include_directories(colonnade_private_dependencies SYSTEM INTERFACE
  $<BUILD_INTERFACE:${ONNX_INCLUDE_DIR}>)
target_compile_definitions(colonnade_private_dependencies INTERFACE $<BUILD_INTERFACE:ONNX_ML=1> $<BUILD_INTERFACE:ONNX_NAMESPACE=onnx>)
if(COLONNADE_ONEDNN)
  target_include_directories(colonnade_private_dependencies SYSTEM INTERFACE $<BUILD_INTERFACE:${DNNL_INCLUDE_DIR}>)
endif()

if(COLONNADE_TOOLS)
  find_package(CLI11 REQUIRED)
  find_package(ZLIB REQUIRED)
  add_library(colonnade_cli_dependencies INTERFACE)
  target_link_libraries(colonnade_cli_dependencies INTERFACE CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json ZLIB::ZLIB)
endif()
