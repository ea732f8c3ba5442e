# SPDX-License-Identifier: Apache-2.0
# Turns models/embedded/*.onnx into one object each and generates the table that Model::embedded reads.
file(GLOB embedded_models CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/embedded/*.onnx)
set(COLONNADE_EMBEDDED_SOURCES ${PROJECT_BINARY_DIR}/embedded_models.cpp)
set(declarations "")
set(rows "")
foreach(model ${embedded_models})
  get_filename_component(name ${model} NAME_WE)
  set(assembly ${PROJECT_BINARY_DIR}/embedded_${name}.S)
  file(CONFIGURE OUTPUT ${assembly} CONTENT [[
.section .rodata
.balign 64
.globl colonnade_embedded_@name@
.hidden colonnade_embedded_@name@
colonnade_embedded_@name@:
.incbin "@model@"
.globl colonnade_embedded_@name@_end
.hidden colonnade_embedded_@name@_end
colonnade_embedded_@name@_end:
.section .note.GNU-stack,"",%progbits
]] @ONLY)
  set_source_files_properties(${assembly} PROPERTIES LANGUAGE ASM OBJECT_DEPENDS ${model})
  list(APPEND COLONNADE_EMBEDDED_SOURCES ${assembly})
  string(APPEND declarations "extern const std::byte colonnade_embedded_${name}[], colonnade_embedded_${name}_end[];\n")
  string(APPEND rows "    {\"${name}\", colonnade_embedded_${name}, colonnade_embedded_${name}_end},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded_models.cpp CONTENT [[
// Generated from models/embedded.
#include "api/embedded.hpp"

extern "C" {
@declarations@}

namespace colonnade {

std::span<const EmbeddedModel> embedded_models() {
  static const EmbeddedModel models[] = {
@rows@    {nullptr, nullptr, nullptr},
  };
  return {models, std::size(models) - 1};
}

}  // namespace colonnade
]] @ONLY)
