# SPDX-License-Identifier: Apache-2.0
# colonnade_join(TARGET FOLDERS...): with COLONNADE_JOIN the target's files of each folder are compiled together, some at
# a time. Most of what compiling a file takes is its headers, and joined files read them once. What anonymous namespaces
# of one folder hold needs names of its own.
set(COLONNADE_JOINED_FILES 9)  # at most: memory, and something to do for other cores
function(colonnade_join target)
  if(NOT COLONNADE_JOIN)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # takes joined files for headers
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(folder ${ARGN})
    set(files ${sources})
    list(FILTER files INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${folder}/[^/]*\\.cpp$")
    list(LENGTH files count)
    math(EXPR groups "(${count} + ${COLONNADE_JOINED_FILES} - 1) / ${COLONNADE_JOINED_FILES}")
    string(MAKE_C_IDENTIFIER ${folder} name)
    set(index 0)
    foreach(file ${files})
      math(EXPR group "${index} * ${groups} / ${count}")
      set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${name}_${group})
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
endfunction()
