#include "gpu/stream_work.h"

#include <cstring>

namespace octavo::gpu {

void StreamWork::clear() {
  items_.clear();
  arguments_.clear();
}

void StreamWork::add(const StreamItem& item, std::span<const std::byte> argument) {
  items_.push_back(item);
  const std::size_t place = arguments_.size();
  arguments_.resize(place + aligned(argument.size()));
  if (!argument.empty()) std::memcpy(arguments_.data() + place, argument.data(), argument.size());
}

StreamWork::Digest StreamWork::digest() const {
  return {.items = hash_of(std::as_bytes(std::span(items_))), .arguments = hash_of(arguments_)};
}

}  // namespace octavo::gpu
