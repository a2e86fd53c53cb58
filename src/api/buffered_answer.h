// The memory that answers take from when they are made until their last byte is written. It is bounded, so that neither
// one answer, nor all of one client, nor all together can take the whole machine's.
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
  /// The bytes of an answer, such as an error, that may always be held.
  static constexpr std::uint64_t kAlwaysHeld = 4096;

  struct Limits {
    std::uint64_t answer_bytes;  // the most for one answer
    std::uint64_t all_bytes;     // the most for all together; one client may hold a part, as of a queue (QueueBound)
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
  Clients clients_ = {};  // the clients that have answers
  std::uint64_t bytes_ = 0;
};

class BufferedAnswer {
 public:
  BufferedAnswer() = default;  // an answer that is counted nowhere
  /// `client`: a key's name or an address; empty: the only client, which shares with nobody.
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

  /// Counts `bytes` in place of what it counted before. Errors: too many for one answer (400), for one client beside
  /// others, or for all (503). They are counted even so, and must be released soon. BufferBudget::kAlwaysHeld bytes are
  /// never too many.
  std::optional<ApiError> hold(std::uint64_t bytes);
  /// Counts bytes that the server writes on its own account, or that are being sent. Errors: too many for the client or
  /// for all answers together (503).
  std::optional<ApiError> hold_own(std::uint64_t bytes);
  /// Counts `bytes` in place of what it counted before, which was more.
  void set(std::uint64_t bytes);

 private:
  void swap(BufferedAnswer& other) noexcept;

  BufferBudget* budget_ = nullptr;
  BufferBudget::Clients::iterator client_ = {};
  std::uint64_t bytes_ = 0;
};

}  // namespace octavo
