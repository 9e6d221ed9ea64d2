# What tests the project itself and not what rill does: kernels for other processors, whole runs by every way to build
# rill, headers alone, the second compiler, pages, the format, packages. The option RILL_PROJECT_TESTS adds it. What has
# the label `deep` takes long: tests/deep.sh runs it, and .ci/run does not.

# ---------------------------------------------------------------------------------------------------------------------
# Kernels for other processors, and the whole library's objects

if(TARGET test_ops)
  foreach(variant IN LISTS RILL_VARIANTS)
    if(variant MATCHES "^v[0-9]$")
      add_test(NAME ops_for_x86-64-${variant} COMMAND test_ops --gtest_brief=1)
      set_tests_properties(ops_for_x86-64-${variant} PROPERTIES LABELS "ops;deep" TIMEOUT 600 SKIP_RETURN_CODE 77
        ENVIRONMENT RILL_TEST_KERNELS=x86-64-${variant})
    endif()
  endforeach()
endif()

# A tenth of the tests with their nodes spread over devices, or over a GPU of the emulated driver and a device, others over
# tasks, and another over servers. The seed chooses the tenth, and how many: three, four and two for the seeds 1 to 3. Each
# runs alone, because it uses all processors for minutes. And all tests over devices, a third with each seed.
foreach(over devices:1 gpus:1 tasks:1 tasks:2 tasks:3 servers:1)
  string(REGEX MATCH "^([a-z]+):([0-9]+)$" _ "${over}")
  set(over "${CMAKE_MATCH_1}")
  set(seed "${CMAKE_MATCH_2}")
  if(over STREQUAL servers AND NOT TARGET rill::net)
    continue()
  endif()
  set(test spread_over_${over})
  if(NOT seed EQUAL 1)
    string(APPEND test _${seed})
  endif()
  add_test(NAME ${test} COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/spread.py"
    "${PROJECT_BINARY_DIR}" --one-of 10 --over ${over} --seed ${seed})
  set(labels tooling)
  if(NOT over STREQUAL devices)
    list(APPEND labels deep)
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" RUN_SERIAL TRUE TIMEOUT 1200)
endforeach()
foreach(seed 1 2 3)
  add_test(NAME spread_over_devices.third_${seed} COMMAND "${Python3_EXECUTABLE}"
    "${CMAKE_CURRENT_SOURCE_DIR}/spread.py" "${PROJECT_BINARY_DIR}" --one-of 3 --over devices
    --seed ${seed})
  set_tests_properties(spread_over_devices.third_${seed} PROPERTIES LABELS "tooling;deep" TIMEOUT 3600)
endforeach()

set(objects ${RILL_VARIANTS})
list(REMOVE_ITEM objects portable)
if(objects)
  list(TRANSFORM objects REPLACE "(.+)" "${PROJECT_BINARY_DIR}/rill_kernels_\\1.o")
  rill_script(variants "${CMAKE_NM}" "${CMAKE_READELF}" ${objects})
endif()

# ---------------------------------------------------------------------------------------------------------------------
# Whole runs of training have bits that depend neither on the library, the threads nor the passes

# As users compile, but for the one that is made of headers alone in one file: bits don't depend on optimisation either.
function(rill_bits_program name library)
  add_executable(bits_${name} EXCLUDE_FROM_ALL bits/train.cpp)
  target_link_libraries(bits_${name} PRIVATE rill::${library} ${rill_test_packages})
  target_compile_options(bits_${name} PRIVATE ${rill_warnings} ${ARGN})
endfunction()
rill_bits_program(compiled compiled)
rill_bits_program(headers rill -O1)
set(programs bits_compiled bits_headers)
set(arguments $<TARGET_FILE:bits_headers>)
if("portable" IN_LIST RILL_VARIANTS)
  list(APPEND arguments $<TARGET_FILE:bits_compiled>)
endif()
if("v2" IN_LIST RILL_VARIANTS)
  list(APPEND arguments $<TARGET_FILE:bits_compiled>=x86-64-v2)
endif()
list(APPEND arguments --)
if("v3" IN_LIST RILL_VARIANTS)
  rill_bits_program(headers_for_v3 rill -march=x86-64-v3)
  rill_separate(bits_headers_for_v3)
  list(APPEND programs bits_headers_for_v3)
  list(APPEND arguments $<TARGET_FILE:bits_headers_for_v3> $<TARGET_FILE:bits_compiled>=x86-64-v3)
endif()
if("v4" IN_LIST RILL_VARIANTS)
  list(APPEND arguments $<TARGET_FILE:bits_compiled>=x86-64-v4)
endif()
add_test(NAME bits_build COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target ${programs})
set_tests_properties(bits_build PROPERTIES LABELS "tooling;deep" RESOURCE_LOCK build TIMEOUT 1200 FIXTURES_SETUP bits)
add_test(NAME bits COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/bits/bits.py" ${arguments})
set_tests_properties(bits PROPERTIES LABELS "tooling;deep" TIMEOUT 600 FIXTURES_REQUIRED bits)

# ---------------------------------------------------------------------------------------------------------------------
# Headers alone, and all of them twice in one program: with the library and without it

set(missing "")
foreach(pair eigen:Eigen/ codec:cereal/ net:asio/ json:nlohmann/ example:protozero/ image:png.h image:jpeglib.h bench:benchmark/)
  string(REGEX MATCH "^([a-z]+):(.*)$" _ "${pair}")
  if(NOT TARGET rill::${CMAKE_MATCH_1})
    list(APPEND missing "${CMAKE_MATCH_2}")
  endif()
endforeach()
file(GLOB_RECURSE watched CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${watched} headers.py includes.py)

# Sets `result` to the lines that headers.py prints.
function(rill_list_headers what result)
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/headers.py" ${what} ${missing}
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# With the library, a header sees the least of others, and all are tried. Without it, those alone that then hold more
# themselves: to the others it only adds.
foreach(mode rill compiled)
  rill_list_headers(${mode} chains)
  set(alone_${mode} "")
  foreach(chain IN LISTS chains)
    string(REGEX MATCH "[^ ]+$" last "${chain}")
    string(REGEX REPLACE "([^ ]+) ?" "#include <\\1>\n" text "${chain}")
    set(path "${CMAKE_CURRENT_BINARY_DIR}/alone/${mode}/${last}.cpp")
    file(CONFIGURE OUTPUT "${path}" CONTENT "${text}" @ONLY)
    list(APPEND alone_${mode} "${path}")
  endforeach()
endforeach()

rill_list_headers(all headers)
list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE everything)
list(JOIN everything "" everything)
# Included again: a header without a guard would be noticed.
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/everything.cpp" CONTENT "${everything}\n${everything}" @ONLY)
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/everything_and_main.cpp"
  CONTENT "${everything}\nint main() {}\n" @ONLY)

# All headers after macros of other libraries.
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/among_macros.cpp"
  CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/macros.hpp\"\n${everything}\n" @ONLY)

# rill_build_test(<target> <mode> <label>…): compiles headers, as a test.
function(rill_build_test target mode)
  target_link_libraries(${target} PRIVATE rill::${mode} ${rill_test_packages})
  if(TARGET rill::bench)
    target_link_libraries(${target} PRIVATE rill::bench)
  endif()
  target_compile_options(${target} PRIVATE ${rill_warnings} -O0)
  if(target MATCHES "alone|among")  # code for functions that nobody calls is more than half of the work
    target_compile_options(${target} PRIVATE -fsyntax-only)
  endif()
  add_test(NAME ${target} COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target ${target})
  set_tests_properties(${target} PROPERTIES LABELS "${ARGN}" RESOURCE_LOCK build TIMEOUT 1200 PROCESSORS 2)
endfunction()
foreach(mode rill compiled)
  add_library(rill_alone_${mode} OBJECT EXCLUDE_FROM_ALL ${alone_${mode}})
  add_executable(rill_twice_${mode} EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/everything.cpp"
    "${CMAKE_CURRENT_BINARY_DIR}/everything_and_main.cpp")
  rill_build_test(rill_alone_${mode} ${mode} tooling deep)
  rill_build_test(rill_twice_${mode} ${mode} tooling deep)
  add_library(rill_among_macros_${mode} OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/among_macros.cpp")
  rill_build_test(rill_among_macros_${mode} ${mode} tooling deep)
endforeach()
# A dozen of the files, for whoever does not wait for all.
set(dozen "")
list(LENGTH alone_compiled count)
foreach(k RANGE 11)
  math(EXPR at "${k} * ${count} / 12")
  list(GET alone_compiled ${at} path)
  list(APPEND dozen "${path}")
endforeach()
add_library(rill_alone_dozen OBJECT EXCLUDE_FROM_ALL ${dozen})
rill_build_test(rill_alone_dozen compiled tooling)

# What only a program has that is made of headers alone: definitions of operations, the run time's inner parts.
add_executable(test_header_only EXCLUDE_FROM_ALL dsl/kernel_parts.cpp ops/list/use_elements.cpp ${rill_inner_tests})
rill_configure_test(test_header_only rill)
target_link_libraries(test_header_only PRIVATE GTest::gtest_main)
add_test(NAME header_only_build COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target test_header_only)
set_tests_properties(header_only_build PROPERTIES LABELS "tooling;deep" RESOURCE_LOCK build TIMEOUT 1200
  FIXTURES_SETUP header_only)
add_test(NAME header_only COMMAND test_header_only --gtest_brief=1)
set_tests_properties(header_only PROPERTIES LABELS "tooling;deep" TIMEOUT 600 FIXTURES_REQUIRED header_only)

# ---------------------------------------------------------------------------------------------------------------------
# The house: floors, lists, the second compiler, other programs' files, format, pages

rill_script(floors)
rill_script(operations)

set(others ${compilers})
list(REMOVE_AT others 0)
rill_script(other_compiler "${CMAKE_CXX_COMPILER}" $<TARGET_FILE:rill_compiled> "${PROJECT_SOURCE_DIR}/include"
  ${others})

# What other programs make of rill's files, and rill of theirs.
set(RILL_ORACLE_PYTHON python3 CACHE STRING
  "A Python with NumPy, safetensors and TensorFlow, with which rill's files are compared")
mark_as_advanced(RILL_ORACLE_PYTHON)
foreach(format safetensors tfrecord)
  add_test(NAME ${format}_oracle
    COMMAND "${RILL_ORACLE_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/io/${format}_oracle.py" $<TARGET_FILE:test_io>)
  set_tests_properties(${format}_oracle PROPERTIES LABELS io SKIP_RETURN_CODE 77)
endforeach()
find_program(RILL_CLANG_FORMAT NAMES clang-format-19)
mark_as_advanced(RILL_CLANG_FORMAT)
if(RILL_CLANG_FORMAT)
  rill_script(format "${RILL_CLANG_FORMAT}")
else()
  add_test(NAME format COMMAND "${CMAKE_COMMAND}" -E echo "clang-format-19 was not found: the format was not checked")
  set_tests_properties(format PROPERTIES LABELS tooling SKIP_REGULAR_EXPRESSION "was not found")
endif()

# The programs in README.md and docs/.
rill_script(docs check)
rill_script(functions check)
file(GLOB_RECURSE pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/docs/*.md")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages} docs.py)
execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/docs.py" write
  "${CMAKE_CURRENT_BINARY_DIR}/docs" OUTPUT_VARIABLE programs OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" programs "${programs}")
foreach(line IN LISTS programs)
  string(REPLACE " " ";" names "${line}")
  list(POP_FRONT names program)
  cmake_path(GET program STEM stem)
  add_executable(docs_${stem} "${program}")
  target_link_libraries(docs_${stem} PRIVATE rill::compiled ${rill_test_packages})
  target_compile_options(docs_${stem} PRIVATE ${rill_warnings} -Wno-unused -Wno-shadow -O0)
  foreach(name IN LISTS names)
    add_test(NAME docs.${name} COMMAND docs_${stem} ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(docs.${name} PROPERTIES LABELS docs TIMEOUT 600)
  endforeach()
endforeach()

# ---------------------------------------------------------------------------------------------------------------------
# Outside projects

if(RILL_INSTALL)
  foreach(way find_package add_subdirectory fetch_content pkg_config)
    foreach(target rill compiled)
      if(way STREQUAL fetch_content AND target STREQUAL compiled)
        continue()  # the library of add_subdirectory, built once more
      endif()
      add_test(NAME package.${way}.${target}
        COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/package.py" ${way} ${target}
        "${PROJECT_BINARY_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/package" "${CMAKE_COMMAND}" "${CMAKE_CXX_COMPILER}")
      set(labels tooling package deep)
      if(way STREQUAL find_package AND target STREQUAL compiled)
        list(REMOVE_ITEM labels deep)
      endif()
      set_tests_properties(package.${way}.${target} PROPERTIES LABELS "${labels}" TIMEOUT 1800 SKIP_RETURN_CODE 77)
    endforeach()
  endforeach()
endif()
