# SPDX-License-Identifier: Apache-2.0
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # What ccache wants to be told before it keeps what was compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# GCC looks for memory that it can use again from 128 MB on, which its precompiled headers alone take: a tenth of its time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()

# GCC loads a header that it has compiled before in a tenth of the time that it takes to read it. Off under the
# sanitizers, so that some build sees files that forget an include.
if(COLONNADE_SANITIZE)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# Contraction everywhere: a * b + c is one rounding wherever the target has FMA.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=fast>)
if(COLONNADE_SANITIZE)
  add_compile_options(-fsanitize=${COLONNADE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${COLONNADE_SANITIZE})
  # Where variables lie takes GCC a third of the minutes that it compiles unrolled kernels with checks for.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fno-var-tracking>)
  # Names of our own: GCC's, defined for clang too, would change the layout of protobuf's classes.
  if(COLONNADE_SANITIZE MATCHES "thread")
    add_compile_definitions(COLONNADE_TSAN=1)
  elseif(COLONNADE_SANITIZE MATCHES "address")
    add_compile_definitions(COLONNADE_ASAN=1)
  endif()
endif()

add_library(colonnade_warnings INTERFACE)
target_compile_options(colonnade_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor
  $<$<BOOL:${COLONNADE_WERROR}>:-Werror>)
# GCC 12 reports copies inside std::string that cannot happen: overlapping (GCC bug 105651), out of bounds (105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(colonnade_warnings INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
    -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(colonnade_warnings INTERFACE -Wno-unknown-warning-option)  # pragmas that only GCC knows
endif()
