// Little-endian reads from a span of bytes with checks of its bounds, for the GGUF parser. One owner, one thread.
//
// The bytes need not be there yet: a load function is told how far they are about to be read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace octavo {

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian and read in place");

class ByteReader {
 public:
  /// Brings the bytes before `end` into place, or gives an error.
  using Load = std::function<Result<void>(std::uint64_t end)>;

  /// `file` is the path for messages; without `load` all bytes are in place.
  ByteReader(std::span<const std::byte> bytes, std::string file, Load load)
      : bytes_(bytes), file_(std::move(file)), load_(std::move(load)) {}

  std::uint64_t offset() const { return offset_; }
  std::uint64_t remaining() const { return bytes_.size() - offset_; }
  const std::string& file() const { return file_; }

  /// The name of the part that is being read, for messages: "the value of key 'general.name'".
  void set_context(std::string context) { context_ = std::move(context); }
  const std::string& context() const { return context_; }

  /// The next `size` bytes. Error: the file ends before them.
  Result<std::span<const std::byte>> take(std::uint64_t size) {
    if (size > remaining())
      return fail("{}: truncated: {} at offset {} needs {} more bytes, {} remain", file_, context_, offset_, size,
                  remaining());
    if (load_) OCTAVO_TRY_VOID(load_(offset_ + size));
    const auto taken = bytes_.subspan(offset_, size);
    offset_ += size;
    return taken;
  }

  /// At most `size` of the next bytes, without passing them.
  Result<std::span<const std::byte>> peek(std::uint64_t size) {
    size = std::min(size, remaining());
    if (load_) OCTAVO_TRY_VOID(load_(offset_ + size));
    return bytes_.subspan(offset_, size);
  }

  /// The next value of a trivial type.
  template <class T>
  Result<T> read() {
    static_assert(std::is_arithmetic_v<T>);
    OCTAVO_TRY(const auto raw, take(sizeof(T)));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  /// A string: a 64-bit length and that many bytes, viewed in place.
  Result<std::string_view> read_string() {
    OCTAVO_TRY(const auto size, read<std::uint64_t>());
    OCTAVO_TRY(const auto raw, take(size));
    return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
  }

  /// The number of items that follow, each of at least `min_item_bytes`. Error: the file cannot hold them, or there are
  /// more than `limit`, so that a hostile count costs nothing.
  Result<std::uint64_t> read_count(std::uint64_t min_item_bytes, std::uint64_t limit) {
    const std::uint64_t at = offset_;
    OCTAVO_TRY(const auto count, read<std::uint64_t>());
    if (count > remaining() / min_item_bytes)
      return fail("{}: truncated: {} at offset {} counts {} items of at least {} bytes, {} bytes remain", file_,
                  context_, at, count, min_item_bytes, remaining());
    if (count > limit)
      return fail("{}: {} at offset {} counts {} items, expected at most {}", file_, context_, at, count, limit);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string file_;
  Load load_;
  std::string context_ = "the header";
  std::uint64_t offset_ = 0;
};

}  // namespace octavo
