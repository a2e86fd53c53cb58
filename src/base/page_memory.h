// Memory of whole pages, many of which may never be used: the system provides a page when it is first written, and
// takes pages back when told. An access just before or just after the memory ends the process.
//
// One object owns it; the threads that write it share it as they share any memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo {

class PageMemory {
 public:
  PageMemory() = default;
  /// Takes room for `bytes` bytes that read as zeros. It begins at a multiple of 2 MiB and has pages of that size where
  /// the system has them. Throws std::bad_alloc where the system's or the process's limits forbid so much.
  explicit PageMemory(std::size_t bytes);
  ~PageMemory();
  PageMemory(PageMemory&& other) noexcept;
  PageMemory& operator=(PageMemory&& other) noexcept;

  std::uint8_t* data() { return data_; }
  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }

  /// Gives the whole pages between two offsets back to the system; they read as zeros from now on.
  void release(std::size_t begin, std::size_t end);
  /// The number of bytes that are in memory now. The call asks the system about every page.
  std::size_t resident_bytes() const;

  /// The part of `bytes` that the limits of the system and of the process allow, found by halving. Where that is not
  /// all, half of the allowed bytes are left to others.
  static std::uint64_t allowed_bytes(std::uint64_t bytes);

 private:
  void* map_ = nullptr;  // the memory, with one inaccessible page before it and one after it
  std::size_t map_bytes_ = 0;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace octavo
