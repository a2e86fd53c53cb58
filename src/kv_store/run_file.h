// Reading and writing of run files: bytes go directly between the disk and the memory of the blocks, without a copy.
//
// Both work in chunks, with a pause between two of them in which their thread learns that it shall
// stop. A file gets its name when all of it is written; what the system had not put on the disk when the machine lost
// its power, checksums find. One owner, one thread.
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "kv_store/run_header.h"

namespace octavo {

enum class RunFault : std::uint8_t {
  kMissing,  // there is no such file
  kDamaged,  // it is no run file, or not as it was written
  kOther,    // it lacks what was asked for
  kDisk,     // the system cannot read or write
  kStopped,  // a pause has ended it
};

struct RunError {
  RunFault fault = RunFault::kDisk;
  std::string message = {};
};

template <class T>
using RunResult = std::expected<T, RunError>;

/// Called between two chunks; false: the reading or writing shall end.
using Pause = std::function<bool()>;

class RunFile {
 public:
  /// Opens a file and reads its header.
  static RunResult<RunFile> open(const std::filesystem::path& path);
  RunFile(RunFile&& other) noexcept
      : path_(std::move(other.path_)), header_(std::move(other.header_)), fd_(std::exchange(other.fd_, -1)) {}
  RunFile& operator=(RunFile&&) = delete;
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;
  ~RunFile();

  const RunHeader& header() const { return header_; }
  /// Reads blocks and compares them with their checksums. `layout` is one that the header fits.
  RunResult<void> read(std::span<const HeldBlock> blocks, const StateLayout& layout, BlockMemory& memory,
                       const Pause& pause) const;
  /// Compares all payloads with their checksums.
  RunResult<void> check() const;

 private:
  RunFile(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::filesystem::path path_;
  RunHeader header_;
  int fd_;
};

/// Writes the file at `path` with the payloads of a header, whose checksums it fills in. `blocks`: all blocks of the
/// header, in any order; a missing one is the error kOther. An empty `write` is pwritev(2).
RunResult<void> write_run_file(const std::filesystem::path& path, RunHeader& header, std::span<const HeldBlock> blocks,
                               const StateLayout& layout, BlockMemory& memory, const WriteCall& write,
                               const Pause& pause);

/// The suffix of the names of files that are being written.
inline constexpr std::string_view kUnfinishedSuffix = ".new";

}  // namespace octavo
