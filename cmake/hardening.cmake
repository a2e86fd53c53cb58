# Options with which a fault in memory ends the program instead of serving its finder. tests/tools reads the program for
# all of this. Not under sanitizers, which find more and do not go together with checked copies.
option(OCTAVO_HARDENING "Build with protection of the stack, of calls and of the standard library's accesses" ON)

include(CheckPIESupported)
check_pie_supported()  # with it CMAKE_POSITION_INDEPENDENT_CODE makes programs position-independent, too

# Targets with the property OCTAVO_LEAF_CODE, which are the kernels and packing, do without those that cost time in them.
# Their loops run over sizes that their callers have checked. They keep tiles in arrays on the stack, for which a
# protector and probes would be paid in each call. Their calls and returns are protected like all others.
if(OCTAVO_HARDENING AND NOT OCTAVO_SANITIZE)
  set(optimized $<NOT:$<CONFIG:Debug>>)  # checked copies need an optimizing compiler
  set(checked $<NOT:$<BOOL:$<TARGET_PROPERTY:OCTAVO_LEAF_CODE>>>)
  target_compile_options(octavo_flags INTERFACE
    $<${checked}:-fstack-protector-strong> $<${checked}:-fstack-clash-protection> $<${checked}:-D_GLIBCXX_ASSERTIONS>
    # A distribution's compiler may have another level built in.
    $<$<AND:${checked},${optimized}>:-U_FORTIFY_SOURCE> $<$<AND:${checked},${optimized}>:-D_FORTIFY_SOURCE=3>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(octavo_flags INTERFACE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    target_compile_options(octavo_flags INTERFACE -mbranch-protection=standard)
  endif()
  target_link_options(octavo_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
