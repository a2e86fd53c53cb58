// The work of a step for a card's stream, collected before any of it runs: launches and copies, in order.
//
// Owned by CudaDevice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "model/content_hash.h"

namespace octavo::gpu {

/// One launch, or one copy between addresses of the card and of the host.
struct StreamItem {
  enum class Kind : std::uint32_t { kLaunch, kCopyToCard, kCopyToHost, kCopyOnCard };
  Kind kind = Kind::kLaunch;
  std::uint32_t grid_x = 0, grid_y = 0, threads = 0, shared_bytes = 0;  // the shape of a launch
  std::uint32_t kernel = 0;                                             // a launch's: an index of the device's kernels
  std::uint64_t bytes = 0;                                              // the bytes of the argument, or of the copy
  std::uint64_t to = 0, from = 0;                                       // the addresses of a copy
};
static_assert(std::has_unique_object_representations_v<StreamItem>, "digests read all of its bytes");

class StreamWork {
 public:
  /// Hashes of the work: two steps with the same digest do the same.
  struct Digest {
    ContentHash items, arguments;
    bool operator==(const Digest&) const = default;
  };

  void clear();
  /// Adds an item. `argument` has item.bytes bytes, with all padding 0; it is empty for copies.
  void add(const StreamItem& item, std::span<const std::byte> argument);
  Digest digest() const;
  /// Calls run(item, argument) for each item in order.
  template <class Run>
  void for_each(Run&& run) {
    std::size_t place = 0;
    for (const StreamItem& item : items_) {
      run(item, arguments_.data() + place);
      if (item.kind == StreamItem::Kind::kLaunch) place += aligned(item.bytes);
    }
  }

 private:
  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

  std::vector<StreamItem> items_;
  std::vector<std::byte> arguments_;  // one after another, each aligned to 16 bytes
};

}  // namespace octavo::gpu
