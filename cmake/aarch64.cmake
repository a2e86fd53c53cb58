# Toolchain: Debian's cross compiler for 64-bit ARM. Its programs run under emulation.
#
# With OCTAVO_SYSROOT it links with the libraries of a folder that holds Debian's packages for 64-bit ARM, unpacked
# (scripts/setup --arm64 makes one); without, only what needs none but the compiler's own: the kernels.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(OCTAVO_SYSROOT "" CACHE PATH "Debian's packages for 64-bit ARM, unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OCTAVO_SYSROOT)
if(OCTAVO_SYSROOT)
  set(CMAKE_SYSROOT ${OCTAVO_SYSROOT})
  set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
  foreach(kind LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
  endforeach()
  set(ENV{PKG_CONFIG_SYSROOT_DIR} ${OCTAVO_SYSROOT})
  set(ENV{PKG_CONFIG_LIBDIR} ${OCTAVO_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${OCTAVO_SYSROOT}/usr/share/pkgconfig)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${OCTAVO_SYSROOT})
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
endif()
