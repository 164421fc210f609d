# coterie_room(NAME SOURCES ... HEADERS ... TESTS ... USES room... LINKS library...)
#
# TEST_ONCE: no numbers that optimisation could change, or ones that tests of the released program compare with references; its unit tests are
# left to the other builds.
# A room of the house: a static library coterie_NAME that links only the rooms it may use, and a test program
# coterie_NAME_test for the tests that sit beside the sources.

function(coterie_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # psabi: vectors of four doubles are passed differently with and without AVX, which matters only between the two.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-qual -Wunused -Wdouble-promotion -Wformat=2 -Wno-psabi>)
  if(COTERIE_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
  if(COTERIE_NATIVE)
    # Without AVX-512: the code is written for four lanes, and GCC 12 warns falsely in its own headers for eight.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-march=native -mno-avx512f>)
  endif()
  if(COTERIE_SANITIZERS)
    # Without the checks that find little beside the address sanitizer and double the time of a build; and without a warning that GCC
    # gives falsely under sanitizers (the other builds have it).
    target_compile_options(${target} PRIVATE -fsanitize=${COTERIE_SANITIZERS}
      -fno-sanitize=null,alignment,object-size,vptr,pointer-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${COTERIE_SANITIZERS})
  endif()
  if(COTERIE_FUZZ)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)  # counts of the branches taken
  endif()
  if(COTERIE_TIDY)
    find_program(CLANG_TIDY clang-tidy REQUIRED)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${CLANG_TIDY};--quiet")
  endif()
endfunction()

# Headers that most sources read, parsed once for all targets of a kind: rooms, tests, or a name of the target's own. The first target of
# a kind makes them, the others use what it made; so all targets of a kind must have the same flags.
function(coterie_precompile target kind)
  get_property(owner GLOBAL PROPERTY COTERIE_HEADERS_OF_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY COTERIE_HEADERS_OF_${kind} ${target})
    target_precompile_headers(${target} PRIVATE
      <Eigen/Core> <algorithm> <functional> <map> <memory> <optional> <string> <vector> <fmt/format.h> ${ARGN})
  endif()
endfunction()

# Compiles the target's sources some at a time, in units of the same size, at most `most` each: a source alone takes most of its time for the
# same headers and templates, so a build from scratch is much quicker, while one after a change is slower. Names in unnamed
# namespaces of a target must differ for that.
function(coterie_unite target most)
  if(COTERIE_UNITY)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(LENGTH sources count)
    math(EXPR units "(${count} + ${most} - 1) / ${most}")
    math(EXPR size "(${count} + ${units} - 1) / ${units}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# For code that takes no time when it runs.
function(coterie_build_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,Check>>:-O1>)
endfunction()

function(coterie_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  coterie_compile_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} fmt::fmt GTest::gtest_main)
  coterie_precompile(${name} tests <gtest/gtest.h>)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")  # sanitizers make tests slow enough
    coterie_build_quickly(${name})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABEL}")
  if(COTERIE_SANITIZERS MATCHES "thread")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.txt")
  endif()
endfunction()

function(coterie_room name)
  cmake_parse_arguments(ARG "TEST_ONCE" "" "SOURCES;HEADERS;TESTS;USES;LINKS;PRIVATE_LINKS" ${ARGN})
  set(target coterie_${name})
  list(TRANSFORM ARG_USES PREPEND coterie_)
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(coterie::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${ARG_HEADERS})
  target_link_libraries(${target} PUBLIC ${ARG_USES} ${ARG_LINKS} PRIVATE fmt::fmt ${ARG_PRIVATE_LINKS})
  coterie_compile_options(${target})
  coterie_precompile(${target} rooms)
  coterie_unite(${target} 10)
  # Matrices cross the library's boundary, so every user must align them alike, whatever its instruction set.
  target_compile_definitions(${target} PUBLIC EIGEN_MAX_ALIGN_BYTES=64)
  set_property(GLOBAL APPEND PROPERTY COTERIE_ROOMS ${target})
  if(COTERIE_TESTS AND ARG_TESTS AND NOT (ARG_TEST_ONCE AND CMAKE_BUILD_TYPE STREQUAL "Release"))
    coterie_test(${target}_test SOURCES ${ARG_TESTS} LINKS ${target} LABEL unit)
  endif()
endfunction()
