// Memory that answers take from when they are made until their last byte is written, so that neither one of them nor
// all together can take what there is.
//
// A HeldBudget is the server's; any thread may count in it. A HeldAnswer counts one answer's bytes until it goes. One
// thread uses it at a time: the worker that makes the answer, then the I/O thread, which writes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "api/api_error.h"

namespace octavo {

class HeldBudget {
 public:
  struct Limits {
    std::uint64_t answer_bytes;  // of one answer
    std::uint64_t all_bytes;     // of all together
  };

  explicit HeldBudget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend class HeldAnswer;

  const Limits limits_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

class HeldAnswer {
 public:
  HeldAnswer() = default;  // counts nowhere
  explicit HeldAnswer(HeldBudget& budget) : budget_(&budget) {}
  HeldAnswer(HeldAnswer&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HeldAnswer& operator=(HeldAnswer&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldAnswer() { set(0); }

  explicit operator bool() const { return budget_ != nullptr; }

  /// Counts that many bytes instead of those before. Errors: they are too many for one answer (400), or for all (503).
  /// They are counted all the same, and must go soon.
  std::optional<ApiError> hold(std::uint64_t bytes);
  /// The same for what the server says itself, which only all answers together can make too many.
  std::optional<ApiError> hold_own(std::uint64_t bytes);
  /// Counts that many bytes, fewer than before.
  void set(std::uint64_t bytes);

 private:
  HeldBudget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace octavo
