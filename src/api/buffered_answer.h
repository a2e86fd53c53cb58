// Memory that answers take from when they are made until their last byte is written, so that neither one of them, nor
// all of one client, nor all together can take what there is.
//
// A BufferBudget is the server's; any thread may count in it. A BufferedAnswer counts one answer's bytes until it goes.
// One thread uses it at a time: the worker that makes the answer, then the I/O thread, which writes it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/call/api_error.h"

namespace octavo {

class BufferBudget {
 public:
  /// Bytes of an answer, such as an error, that is given whatever is held.
  static constexpr std::uint64_t kAlwaysHeld = 4096;

  struct Limits {
    std::uint64_t answer_bytes;  // of one answer
    std::uint64_t all_bytes;     // of all together; of one client's a part, as of a queue (QueueBound)
  };

  explicit BufferBudget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }
  std::uint64_t bytes() const;

 private:
  friend class BufferedAnswer;

  struct Client {
    std::uint64_t bytes = 0;
    std::size_t num_answers = 0;
  };
  using Clients = std::map<std::string, Client, std::less<>>;
  struct Held {
    std::uint64_t by_all, by_client;
  };

  Clients::iterator enter(std::string_view client);
  void leave(Clients::iterator client, std::uint64_t bytes) noexcept;
  Held change(Clients::iterator client, std::uint64_t before, std::uint64_t after) noexcept;

  const Limits limits_;
  mutable std::mutex mutex_;
  Clients clients_ = {};  // that have answers
  std::uint64_t bytes_ = 0;
};

class BufferedAnswer {
 public:
  BufferedAnswer() = default;  // counts nowhere
  /// `client`: a key's name or an address; empty: there are no others, with whom it would share.
  explicit BufferedAnswer(BufferBudget& budget, std::string_view client = {})
      : budget_(&budget), client_(budget.enter(client)) {}
  BufferedAnswer(BufferedAnswer&& other) noexcept { swap(other); }
  BufferedAnswer& operator=(BufferedAnswer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~BufferedAnswer() {
    if (budget_ != nullptr) budget_->leave(client_, bytes_);
  }

  explicit operator bool() const { return budget_ != nullptr; }

  /// Counts that many bytes instead of those before. Errors: they are too many for one answer (400), for one client
  /// beside others, or for all (503). They are counted all the same, and must go soon. BufferBudget::kAlwaysHeld are
  /// never too many.
  std::optional<ApiError> hold(std::uint64_t bytes);
  /// Counts the bytes that the server says itself, or that are being written. Errors: they are too many for the client
  /// or for all answers together (503).
  std::optional<ApiError> hold_own(std::uint64_t bytes);
  /// Counts that many bytes, fewer than before.
  void set(std::uint64_t bytes);

 private:
  void swap(BufferedAnswer& other) noexcept;

  BufferBudget* budget_ = nullptr;
  BufferBudget::Clients::iterator client_ = {};
  std::uint64_t bytes_ = 0;
};

}  // namespace octavo
