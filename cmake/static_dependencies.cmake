# OCTAVO_STATIC_DEPENDENCIES: the libraries of others become part of what is linked, as position-independent code, and
# nothing is needed on the machine that runs it but the C library and libgcc_s.so.1, which every Linux with that C
# library has: what a Python wheel brings along. Included before the libraries are looked for;
# octavo_link_static_dependencies() is called when they were found. Headers stay Debian's.
option(OCTAVO_STATIC_DEPENDENCIES "Link the libraries that tools/build_static_libraries.sh made into what is built" OFF)
if(DEFINED ENV{XDG_CACHE_HOME})
  set(octavo_cache_folder $ENV{XDG_CACHE_HOME})
else()
  set(octavo_cache_folder $ENV{HOME}/.cache)
endif()
set(OCTAVO_STATIC_LIBRARIES ${octavo_cache_folder}/octavo/wheel CACHE PATH
  "The folder that tools/build_static_libraries.sh wrote")

if(OCTAVO_STATIC_DEPENDENCIES)
  if(NOT EXISTS ${OCTAVO_STATIC_LIBRARIES}/libraries.tsv)
    message(FATAL_ERROR "OCTAVO_STATIC_DEPENDENCIES: ${OCTAVO_STATIC_LIBRARIES} has no libraries; "
      "run tools/build_static_libraries.sh ${OCTAVO_STATIC_LIBRARIES}")
  endif()
  # The libraries that pkg-config is asked for are described in a folder of their own, which has no other form of them.
  set(ENV{PKG_CONFIG_PATH} ${OCTAVO_STATIC_LIBRARIES}/lib/pkgconfig)
  # The C++ library, too, but not libgcc: GCC 12's static one needs glibc 2.35, and enterprise distributions have 2.34.
  # Symbols of all of them stay inside, by src/capi/octavo.map: the process may have other versions of its own.
  add_link_options(-static-libstdc++ -Wl,--gc-sections)
  set(CMAKE_SKIP_BUILD_RPATH ON)  # there is no library to be found when it runs
endif()

# octavo_take_static(TARGET LIBRARY LIBRARIES...): the file of an imported target is ours, and so is what it needs. What was
# compiled with it before is compiled with the same definitions, so that objects are those of a build without this.
function(octavo_take_static target library)
  get_target_property(needed ${target} INTERFACE_LINK_LIBRARIES)
  foreach(other IN LISTS needed)
    if(TARGET ${other})
      get_target_property(definitions ${other} INTERFACE_COMPILE_DEFINITIONS)
      if(definitions)
        set_property(TARGET ${target} APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS ${definitions})
      endif()
    endif()
  endforeach()
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  if(NOT configurations)
    set(configurations "")
  endif()
  foreach(suffix "" ${configurations})
    if(suffix)
      set(suffix _${suffix})
    endif()
    set_target_properties(${target} PROPERTIES
      IMPORTED_LOCATION${suffix} ${OCTAVO_STATIC_LIBRARIES}/lib/lib${library}.a
      IMPORTED_SONAME${suffix} "" IMPORTED_LINK_DEPENDENT_LIBRARIES${suffix} "")
  endforeach()
  set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${ARGN})
endfunction()

function(octavo_link_static_dependencies)
  if(NOT OCTAVO_STATIC_DEPENDENCIES)
    return()
  endif()
  octavo_take_static(fmt::fmt fmt)
  octavo_take_static(spdlog::spdlog spdlog fmt::fmt)
  octavo_take_static(Boost::json boost_json)
  octavo_take_static(OpenSSL::Crypto crypto ${CMAKE_DL_LIBS})
  octavo_take_static(OpenSSL::SSL ssl OpenSSL::Crypto)
  octavo_take_static(CURL::libcurl curl OpenSSL::SSL OpenSSL::Crypto)
endfunction()
