#include "http/received_bytes.h"

#include <algorithm>
#include <utility>

namespace octavo {

ReceivedBytes::Share::Share(ReceivedBytes& all, std::function<void()> give_up)
    : all_(all), give_up_(std::move(give_up)) {
  all_.shares_.insert(this);
}

ReceivedBytes::Share::~Share() {
  all_.total_ -= num_bytes_;
  all_.shares_.erase(this);
}

void ReceivedBytes::Share::set(std::uint64_t num_bytes) {
  if (gave_up_) return;
  all_.total_ += num_bytes - num_bytes_;
  num_bytes_ = num_bytes;
  while (all_.total_ > all_.limit_) all_.reduce();
}

void ReceivedBytes::reduce() {
  Share* largest =
      *std::ranges::max_element(shares_, [](const Share* a, const Share* b) { return a->num_bytes_ < b->num_bytes_; });
  total_ -= std::exchange(largest->num_bytes_, 0);
  largest->gave_up_ = true;
  largest->give_up_();
}

}  // namespace octavo
