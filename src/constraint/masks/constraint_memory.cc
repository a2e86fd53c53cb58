#include "constraint/masks/constraint_memory.h"

#include <chrono>

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kMostWait{50};

}  // namespace

bool ConstraintMemory::try_add_automaton(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > max_automata_ - std::min<std::size_t>(max_automata_, automaton_bytes_)) return false;
  automaton_bytes_ += bytes;
  ++num_constraints_;
  return true;
}

void ConstraintMemory::remove_automaton(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  automaton_bytes_ -= bytes;
  --num_constraints_;
  ++num_removed_;
  has_room_.notify_all();
}

void ConstraintMemory::wait_for_room(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const std::size_t seen = num_removed_;
  has_room_.wait_for(lock, stop, kMostWait, [&] { return num_removed_ != seen; });
}

}  // namespace octavo
