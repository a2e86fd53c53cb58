#include "template/values/arena.h"

#include <algorithm>

#include "template/values/failure.h"

namespace octavo::jinja {

namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kFirstChunkBytes = std::size_t{4} << 10;
constexpr std::size_t kMostChunkBytes = std::size_t{256} << 10;
constexpr std::uint64_t kStepsBetweenLooks = 4096;

}  // namespace

void Arena::charge_bytes(std::size_t bytes) {
  if (bytes > left_.bytes)
    fail_at({}, "it builds more than {} bytes of text and values, which is the most that it may", given_.bytes);
  left_.bytes -= bytes;
}

void Arena::fail_for_steps() const {
  fail_at({}, "it takes more than {} steps, which is the most that it may", given_.steps);
}

void Arena::look() {
  next_look_ = left_.steps - std::min(left_.steps, kStepsBetweenLooks);
  if (left_.work != nullptr && left_.work->is_stopped()) fail_at({}, "it was stopped");
}

std::size_t Arena::checked_bytes(std::size_t size, std::size_t item_bytes) const {
  // Where the product would overflow: a size that no budget holds.
  return size > SIZE_MAX / 2 / item_bytes ? SIZE_MAX / 2 : size * item_bytes;
}

void* Arena::allocate(std::size_t bytes) {
  const std::size_t rounded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  charge_bytes(rounded);
  if (rounded > chunk_left_) {
    const std::size_t grown = std::min(kMostChunkBytes, kFirstChunkBytes << std::min<std::size_t>(chunks_.size(), 8));
    const std::size_t chunk_bytes = std::max(rounded, grown);
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_bytes));
    // What does not fit gets a chunk of its own, and the current chunk stays in use.
    if (rounded > grown / 2 && chunk_left_ > 0) return chunks_.back().get();
    next_ = chunks_.back().get();
    chunk_left_ = chunk_bytes;
  }
  void* memory = next_;
  next_ += rounded;
  chunk_left_ -= rounded;
  return memory;
}

std::string_view Arena::copy(std::string_view text) {
  if (text.empty()) return {};
  char* bytes = static_cast<char*>(allocate(text.size()));
  std::memcpy(bytes, text.data(), text.size());
  return {bytes, text.size()};
}

}  // namespace octavo::jinja
