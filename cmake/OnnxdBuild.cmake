# Compiler settings and the two functions every folder uses to declare what it builds.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(ONNXD_SANITIZE "" CACHE STRING "value of -fsanitize=, empty for none")
option(ONNXD_WERROR "treat warnings as errors" ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "build type" FORCE)
endif()

find_program(ONNXD_CCACHE ccache)
if(ONNXD_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${ONNXD_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ONNXD_CCACHE})
endif()

add_library(onnxd_flags INTERFACE)
target_include_directories(onnxd_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_definitions(onnxd_flags INTERFACE _GNU_SOURCE)
target_compile_options(onnxd_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions> $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>
  -Wpointer-arith -Wwrite-strings -Wformat=2 -Wundef -Wimplicit-fallthrough
  # Messages are cut at their buffer's size on purpose; gcc warns of it at -O3 only.
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
  -fno-strict-aliasing -fno-common -fstack-protector-strong
  $<$<BOOL:${ONNXD_WERROR}>:-Werror>)
target_compile_options(onnxd_flags INTERFACE $<$<CONFIG:Release>:-fstack-clash-protection>)
if(NOT ONNXD_SANITIZE)
  target_compile_options(onnxd_flags INTERFACE
    $<$<CONFIG:Release>:-U_FORTIFY_SOURCE>
    $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
endif()
target_link_options(onnxd_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack
  $<$<LINK_LANGUAGE:CXX>:-static-libstdc++>)
if(ONNXD_SANITIZE)
  target_compile_options(onnxd_flags INTERFACE
    -fsanitize=${ONNXD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  target_link_options(onnxd_flags INTERFACE -fsanitize=${ONNXD_SANITIZE})
endif()

# onnxd_add_library(<folder> SOURCES ... [DEPENDS <folder>...] [LINK <target>...])
# A static library onnxd_<folder>. DEPENDS lists only the folders below it.
function(onnxd_add_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(onnxd_${name} STATIC ${arg_SOURCES})
  target_link_libraries(onnxd_${name} PUBLIC onnxd_flags)
  foreach(folder IN LISTS arg_DEPENDS)
    target_link_libraries(onnxd_${name} PUBLIC onnxd_${folder})
  endforeach()
  target_link_libraries(onnxd_${name} PRIVATE ${arg_LINK})
endfunction()

# onnxd_add_unit_test(<name> SOURCES ... [DEPENDS <folder>...] [LINK <target>...] [LABELS ...])
# A Criterion executable, registered with CTest under <name>.
function(onnxd_add_unit_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINK;LABELS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  if(ONNXD_SANITIZE MATCHES "thread")
    target_sources(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/tsan_arena.c)
  endif()
  target_link_libraries(test_${name} PRIVATE onnxd_flags onnxd::criterion)
  foreach(folder IN LISTS arg_DEPENDS)
    target_link_libraries(test_${name} PRIVATE onnxd_${folder})
  endforeach()
  target_link_libraries(test_${name} PRIVATE ${arg_LINK})
  add_test(NAME ${name} COMMAND test_${name} --short-filename)
  # Criterion overlooks the exit status of a test process, through which sanitizers report leaks and
  # races, but not an abort.
  set_tests_properties(${name} PROPERTIES LABELS "unit;${arg_LABELS}" TIMEOUT 300
    ENVIRONMENT "ASAN_OPTIONS=abort_on_error=1;TSAN_OPTIONS=halt_on_error=1 abort_on_error=1 suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
endfunction()
