# SPDX-License-Identifier: Apache-2.0
# colonnade-fuzz, and a short run of each mode as a test. COLONNADE_LIBFUZZER (clang) adds one executable a mode that
# libFuzzer drives.
option(COLONNADE_LIBFUZZER "Build colonnade-libfuzzer-MODE, one a mode; needs clang" OFF)
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
set(fuzz_main ${CMAKE_CURRENT_LIST_DIR}/main.cpp ${CMAKE_CURRENT_LIST_DIR}/supervise.cpp)
set(fuzz_libfuzzer ${CMAKE_CURRENT_LIST_DIR}/libfuzzer.cpp)
list(REMOVE_ITEM fuzz_sources ${fuzz_main} ${fuzz_libfuzzer})
list(APPEND fuzz_sources ${CMAKE_CURRENT_SOURCE_DIR}/passes/graphs.cpp)  # what networks of the graph target are built with
set(fuzz_modes model graph tensor compiled)
set(fuzz_server_modes http shared grpc config)
if(TARGET colonnade_server)
  list(APPEND fuzz_modes ${fuzz_server_modes})
else()
  foreach(mode ${fuzz_server_modes})
    list(REMOVE_ITEM fuzz_sources ${CMAKE_CURRENT_LIST_DIR}/${mode}_target.cpp)
  endforeach()
endif()

function(colonnade_add_fuzzer name)
  add_executable(${name} ${ARGN} ${fuzz_sources})
  target_link_libraries(${name} PRIVATE colonnade_static colonnade_private_dependencies colonnade_cli_parts GTest::gtest
    colonnade_warnings)
  target_compile_options(${name} PRIVATE -O1)
  target_precompile_headers(${name} REUSE_FROM colonnade_test_headers_1)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests
    ${PROJECT_SOURCE_DIR}/frontends/cli)
  if(TARGET colonnade_server)
    target_link_libraries(${name} PRIVATE colonnade_server)
    target_compile_definitions(${name} PRIVATE COLONNADE_SERVER)
  endif()
endfunction()

colonnade_add_fuzzer(colonnade-fuzz ${fuzz_main})
set_target_properties(colonnade-fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
foreach(mode ${fuzz_modes})
  add_test(NAME fuzz.${mode} COMMAND colonnade-fuzz ${mode} --seed 1 --count 150 --seconds 20
    --corpus ${PROJECT_SOURCE_DIR}/models --failures ${PROJECT_BINARY_DIR}/fuzz-failures)
  set_tests_properties(fuzz.${mode} PROPERTIES TIMEOUT 600)
  if(COLONNADE_LIBFUZZER)
    colonnade_add_fuzzer(colonnade-libfuzzer-${mode} ${fuzz_libfuzzer})
    target_compile_definitions(colonnade-libfuzzer-${mode} PRIVATE COLONNADE_FUZZ_MODE="${mode}")
    target_link_options(colonnade-libfuzzer-${mode} PRIVATE -fsanitize=fuzzer)
  endif()
endforeach()
