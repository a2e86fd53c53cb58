// The memory of all constraints of an engine: the bytes of their automata and masks, and the bounds of these.
//
// The engine makes it, and its constraints keep it alive. Any thread may call it.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>

namespace octavo {

class ConstraintMemory {
 public:
  static constexpr std::size_t kMaxAutomata = std::size_t{160} << 20;  // for all constraints together
  static constexpr std::size_t kMaxMasks = std::size_t{96} << 20;      // for all constraints together
  static constexpr std::size_t kMaxMasksEach = std::size_t{24} << 20;  // for one constraint

  explicit ConstraintMemory(std::size_t max_automata = kMaxAutomata) : max_automata_(max_automata) {}
  ConstraintMemory(const ConstraintMemory&) = delete;
  ConstraintMemory& operator=(const ConstraintMemory&) = delete;

  /// Counts an automaton. False: the others leave no room for it, and nothing is counted.
  bool try_add_automaton(std::size_t bytes);
  void remove_automaton(std::size_t bytes);
  /// Waits until some room has come back, the token asks to stop, or a short time has passed: nobody tells when a kept
  /// constraint is let go.
  void wait_for_room(const std::stop_token& stop);

  /// The most bytes of masks and other findings of one constraint, which drops them where it would keep more.
  std::size_t most_masks() const {
    return std::min(kMaxMasksEach, kMaxMasks / std::max<std::size_t>(1, num_constraints_));
  }
  void add_masks(std::size_t bytes) { mask_bytes_ += bytes; }
  void remove_masks(std::size_t bytes) { mask_bytes_ -= bytes; }

  std::size_t automaton_bytes() const { return automaton_bytes_; }
  std::size_t mask_bytes() const { return mask_bytes_; }

 private:
  const std::size_t max_automata_;
  std::mutex mutex_;  // guards the count of automata while it changes
  std::condition_variable_any has_room_;
  std::size_t num_removed_ = 0;
  std::atomic<std::size_t> num_constraints_ = 0, automaton_bytes_ = 0, mask_bytes_ = 0;
};

}  // namespace octavo
