// How a launch of a kernel runs on a host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>

namespace octavo::simt {

/// A kernel has used the card wrongly.
class MisuseError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Copies : std::uint8_t { kLate, kAtOnce };
enum class ThreadOrder : std::uint8_t { kAscending, kDescending };

/// The extent of a launch, and the time of copies and order of threads, which must not change what it does.
struct EmulatedLaunch {
  int grid_x = 1, grid_y = 1, threads = 32;
  std::size_t shared_bytes = 0;
  Copies copies = Copies::kLate;
  ThreadOrder order = ThreadOrder::kAscending;
};

/// Runs all blocks of a grid, one after another; `body` calls the kernel.
void run_emulated(const EmulatedLaunch& launch, const std::function<void()>& body);

}  // namespace octavo::simt
