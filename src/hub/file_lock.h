// A lock between processes, in the form of a file: flock(2), which ends with its holder, however that ends.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <stop_token>

#include "base/error.h"

namespace octavo::hub {

class FileLock {
 public:
  /// Waits until nobody else holds the lock, and calls `has_progress` now and then. Errors: that was false for
  /// `patience`; the file cannot be made; a stop was asked for.
  static Result<FileLock> take(const std::filesystem::path& path, std::chrono::milliseconds patience,
                               const std::function<bool()>& has_progress, const std::stop_token& stop = {});

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace octavo::hub
