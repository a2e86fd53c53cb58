# Precompiled headers: reading the standard library, Boost and GoogleTest again in every unit was most of the
# build. A unit still includes all that it uses: clang-tidy, and a build with OCTAVO_PRECOMPILED_HEADERS=OFF, read it
# without them.
option(OCTAVO_PRECOMPILED_HEADERS "Read the libraries' headers once a layer instead of once a unit" ON)

set(octavo_standard_headers
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstdint> <cstring> <expected> <filesystem> <functional> <limits>
  <map> <memory> <mutex> <new> <optional> <span> <stop_token> <string> <string_view> <thread> <tuple> <unordered_map>
  <utility> <variant> <vector> <fmt/format.h>)
set(octavo_asio_headers
  <boost/asio/awaitable.hpp> <boost/asio/buffer.hpp> <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp>
  <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/redirect_error.hpp>
  <boost/asio/signal_set.hpp> <boost/asio/ssl/context.hpp> <boost/asio/steady_timer.hpp> <boost/asio/thread_pool.hpp>
  <boost/asio/use_awaitable.hpp> <boost/beast/core/string.hpp> <boost/beast/http/parser.hpp>
  <boost/beast/http/string_body.hpp>)
set(octavo_test_headers <gmock/gmock.h> <gtest/gtest.h> <random> <fstream>)

# octavo_precompile(TARGET headers...): headers of its own, beside the standard ones.
function(octavo_precompile target)
  if(OCTAVO_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} PRIVATE ${octavo_standard_headers} ${ARGN})
  endif()
endfunction()

# octavo_precompiled_by(TARGET OTHER): those of OTHER, which has the same flags.
function(octavo_precompiled_by target other)
  if(OCTAVO_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# octavo_precompile_shared(TARGET NAME KIND headers...): those of the target octavo_NAME, which is made the first time.
# KIND is LIBRARY or EXECUTABLE like TARGET's: the two are compiled with different flags for position independence.
function(octavo_precompile_shared target name kind)
  if(NOT OCTAVO_PRECOMPILED_HEADERS)
    return()
  endif()
  if(NOT TARGET octavo_${name})
    set(source ${PROJECT_BINARY_DIR}/octavo_${name}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    if(kind STREQUAL "LIBRARY")
      add_library(octavo_${name} OBJECT ${source})
    else()
      add_executable(octavo_${name} EXCLUDE_FROM_ALL ${source})
      octavo_test_flags(octavo_${name})
      if("<gmock/gmock.h>" IN_LIST ARGN)
        target_link_libraries(octavo_${name} PRIVATE GTest::gmock)
      endif()
    endif()
    target_link_libraries(octavo_${name} PRIVATE octavo_flags fmt::fmt)
    octavo_precompile(octavo_${name} ${ARGN})
  endif()
  target_precompile_headers(${target} REUSE_FROM octavo_${name})
endfunction()
