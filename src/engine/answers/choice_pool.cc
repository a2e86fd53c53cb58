#include "engine/answers/choice_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/to_size.h"

namespace octavo {
namespace {

/// The room for tokens, a power of two so that many choices have the same.
std::size_t room_of(const std::unique_ptr<Choice>& choice) {
  return std::bit_floor(choice->sequence.tokens.capacity());
}

std::size_t room_for(const ActiveRequest& request) {
  return std::bit_ceil(request.prompt.tokens.size() + to_size(request.endings.max_generated));
}

}  // namespace

void begin_choice(Choice& choice, const ActiveRequest& request, int number, int block_size) {
  const std::size_t room = room_for(request);
  choice.sequence.tokens.reserve(room);
  choice.sequence.chain.reserve(room / to_size(block_size) + 1);
  choice.begin(request, number);
}

std::unique_ptr<Choice> ChoicePool::take(const ActiveRequest& request, int choice, int block_size) {
  const std::size_t room = room_for(request);
  std::unique_ptr<Choice> taken;
  const auto found = std::ranges::find(spares_, room, room_of);
  if (found != spares_.end()) {
    num_tokens_ -= room;
    taken = std::exchange(*found, std::move(spares_.back()));
    spares_.pop_back();
  } else {
    taken = std::make_unique<Choice>(words_);
  }
  begin_choice(*taken, request, choice, block_size);
  return taken;
}

void ChoicePool::keep(std::unique_ptr<Choice> choice) {
  const std::size_t room = room_of(choice);
  if (spares_.size() == kMost || room > kMostTokens - num_tokens_) return;
  num_tokens_ += room;
  spares_.push_back(std::move(choice));
}

}  // namespace octavo
