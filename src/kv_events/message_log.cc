#include "kv_events/message_log.h"

#include <utility>

namespace octavo {

void MessageLog::add(SharedText batch) {
  num_bytes_ += batch->size();
  batches_.push_back(std::move(batch));
  ++next_number_;
  while (batches_.size() > most_ || (num_bytes_ > kMaxBytes && batches_.size() > 1)) {
    num_bytes_ -= batches_.front()->size();
    batches_.pop_front();
  }
}

std::string number_frame(std::uint64_t number) {
  std::string frame;
  for (int i = 7; i >= 0; --i) frame += static_cast<char>(number >> (8 * i) & 0xFF);
  return frame;
}

std::optional<std::uint64_t> number_of_frame(std::string_view frame) {
  if (frame.size() != sizeof(std::uint64_t)) return std::nullopt;
  std::uint64_t number = 0;
  for (const char byte : frame) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

}  // namespace octavo
