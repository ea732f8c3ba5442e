# SPDX-License-Identifier: Apache-2.0
# Turns frontends/server/page/* into one object each and generates the table that page_file reads.
file(GLOB page_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/frontends/server/page/*)
set(COLONNADE_PAGE_SOURCES ${PROJECT_BINARY_DIR}/page_files.cpp)
set(declarations "")
set(rows "")
foreach(file ${page_files})
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} symbol)
  set(assembly ${PROJECT_BINARY_DIR}/page_${symbol}.S)
  file(CONFIGURE OUTPUT ${assembly} CONTENT [[
.section .rodata
.globl colonnade_page_@symbol@
.hidden colonnade_page_@symbol@
colonnade_page_@symbol@:
.incbin "@file@"
.globl colonnade_page_@symbol@_end
.hidden colonnade_page_@symbol@_end
colonnade_page_@symbol@_end:
.section .note.GNU-stack,"",%progbits
]] @ONLY)
  set_source_files_properties(${assembly} PROPERTIES LANGUAGE ASM OBJECT_DEPENDS ${file})
  list(APPEND COLONNADE_PAGE_SOURCES ${assembly})
  string(APPEND declarations "extern const char colonnade_page_${symbol}[], colonnade_page_${symbol}_end[];\n")
  string(APPEND rows "      {\"${name}\", {colonnade_page_${symbol}, colonnade_page_${symbol}_end}},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/page_files.cpp CONTENT [[
// Generated from frontends/server/page.
#include "frontends/server/http/page_file.hpp"

extern "C" {
@declarations@}

namespace colonnade::serve::http {

std::span<const EmbeddedFile> embedded_files() {
  static const EmbeddedFile files[] = {
@rows@      {},
  };
  return {files, std::size(files) - 1};
}

}  // namespace colonnade::serve::http
]] @ONLY)
