# The instruction-set levels that are built: OCTAVO_ISA_LEVELS, resolved into the list octavo_isa_levels. Their names
# are those of src/base/isa_level.h, their flags in src/kernels/CMakeLists.txt. A level takes the compiler up to two
# minutes, and one program runs one level: who builds only for this machine needs only its strongest. Packages and tests
# need all.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(octavo_all_isa_levels scalar avx2 avxvnni avx512vnni amxbf16 amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(octavo_all_isa_levels scalar neon)
else()
  set(octavo_all_isa_levels scalar)
endif()
set(OCTAVO_ISA_LEVELS all CACHE STRING
  "Instruction sets to build kernels for: all, native (the strongest of this machine, with what that is built on), or a list of names")

# octavo_find_machine_levels(OUT): the levels that this machine has, the strongest last, which is what `--isa auto` of a
# build with all of them would choose. Asked once a configuration, because a build folder may have been made on another
# machine.
function(octavo_find_machine_levels out)
  unset(octavo_machine_ran CACHE)
  unset(octavo_machine_compiled CACHE)
  try_run(octavo_machine_ran octavo_machine_compiled ${CMAKE_BINARY_DIR}/machine_levels
    SOURCES ${PROJECT_SOURCE_DIR}/cmake/machine_levels.cc
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src
    COMPILE_OUTPUT_VARIABLE errors RUN_OUTPUT_VARIABLE levels)
  if(NOT octavo_machine_compiled OR NOT octavo_machine_ran EQUAL 0)
    message(FATAL_ERROR "The program that asks the processor for its instruction sets did not compile and run\n${errors}")
  endif()
  set(${out} ${levels} PARENT_SCOPE)
endfunction()

if(OCTAVO_ISA_LEVELS STREQUAL "all")
  set(octavo_isa_levels ${octavo_all_isa_levels})
elseif(OCTAVO_ISA_LEVELS STREQUAL "native")
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "OCTAVO_ISA_LEVELS=native means the machine that builds, but this build is for another: "
      "name its levels, or all")
  endif()
  octavo_find_machine_levels(octavo_isa_levels)
  list(GET octavo_isa_levels -1 strongest)
  if(strongest STREQUAL "amx")  # which has most of its kernels from another; and what is built on it comes along
    list(FILTER octavo_isa_levels INCLUDE REGEX "^(avx512vnni|amx|amxbf16)$")
  else()
    set(octavo_isa_levels ${strongest})
  endif()
else()
  set(octavo_isa_levels ${OCTAVO_ISA_LEVELS})
endif()
list(LENGTH octavo_isa_levels octavo_num_isa_levels)
foreach(level IN LISTS octavo_isa_levels)
  if(NOT level IN_LIST octavo_all_isa_levels)
    set(octavo_num_isa_levels 0)
  endif()
endforeach()
if(octavo_num_isa_levels EQUAL 0)
  list(JOIN octavo_all_isa_levels ", " names)
  message(FATAL_ERROR "OCTAVO_ISA_LEVELS: found \"${OCTAVO_ISA_LEVELS}\", expected all, native or some of ${names}")
endif()

if("amx" IN_LIST octavo_isa_levels AND NOT "avx512vnni" IN_LIST octavo_isa_levels)
  message(FATAL_ERROR "OCTAVO_ISA_LEVELS: found \"${OCTAVO_ISA_LEVELS}\": amx has most of its kernels from avx512vnni, "
    "which it needs beside it")
endif()

if("amxbf16" IN_LIST octavo_isa_levels AND NOT "amx" IN_LIST octavo_isa_levels)
  message(FATAL_ERROR "OCTAVO_ISA_LEVELS: found \"${OCTAVO_ISA_LEVELS}\": amxbf16 has most of its kernels from amx, which "
    "it needs beside it")
endif()

# Flags of avx512vnni, with which tests compile an emulation of what is beyond it, too. GCC 12's own AVX-512 header warns
# of its deliberately undefined values (GCC bug 105593).
set(octavo_avx512vnni_flags -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx2 -mfma -mf16c
    -mprefer-vector-width=512 -Wno-uninitialized)

# octavo_tell_isa_levels(TARGET): OCTAVO_HAS_SCALAR, OCTAVO_HAS_AVX2, ...: 1 for the levels that are built, else 0.
function(octavo_tell_isa_levels target)
  foreach(level scalar avx2 avxvnni avx512vnni amx amxbf16 neon)
    string(TOUPPER ${level} name)
    if(level IN_LIST octavo_isa_levels)
      target_compile_definitions(${target} PRIVATE OCTAVO_HAS_${name}=1)
    else()
      target_compile_definitions(${target} PRIVATE OCTAVO_HAS_${name}=0)
    endif()
  endforeach()
endfunction()

# octavo_need_all_isa_levels(WHO): ends the configuration unless all levels are built.
function(octavo_need_all_isa_levels who)
  foreach(level IN LISTS octavo_all_isa_levels)
    if(NOT level IN_LIST octavo_isa_levels)
      message(FATAL_ERROR "${who} OCTAVO_ISA_LEVELS=all, found \"${OCTAVO_ISA_LEVELS}\"")
    endif()
  endforeach()
endfunction()
