// Memory that answers take from when they are made until their last byte is written, so that neither one of them nor
// all together can take what there is.
//
// A BufferBudget is the server's; any thread may count in it. A BufferedAnswer counts one answer's bytes until it goes.
// One thread uses it at a time: the worker that makes the answer, then the I/O thread, which writes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "api/api_error.h"

namespace octavo {

class BufferBudget {
 public:
  struct Limits {
    std::uint64_t answer_bytes;  // of one answer
    std::uint64_t all_bytes;     // of all together
  };

  explicit BufferBudget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend class BufferedAnswer;

  const Limits limits_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

class BufferedAnswer {
 public:
  BufferedAnswer() = default;  // counts nowhere
  explicit BufferedAnswer(BufferBudget& budget) : budget_(&budget) {}
  BufferedAnswer(BufferedAnswer&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  BufferedAnswer& operator=(BufferedAnswer&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~BufferedAnswer() { set(0); }

  explicit operator bool() const { return budget_ != nullptr; }

  /// Counts that many bytes instead of those before. Errors: they are too many for one answer (400), or for all (503).
  /// They are counted all the same, and must go soon.
  std::optional<ApiError> hold(std::uint64_t bytes);
  /// Counts the bytes that the server says itself. Errors: they are too many for all answers together (503).
  std::optional<ApiError> hold_own(std::uint64_t bytes);
  /// Counts that many bytes, fewer than before.
  void set(std::uint64_t bytes);

 private:
  BufferBudget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace octavo
