// Counts the requests, and their prompts' tokens, that wait for their first row: in all and for each owner.
//
// Owned by the engine, and outlives the places that it gives. Any thread may enter and leave.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "octavo/queue_bound.h"

namespace octavo {

class QueueUsage {
  struct Held {
    std::int64_t requests = 0, tokens = 0;
  };
  using Owners = std::map<std::string, Held, std::less<>>;

 public:
  struct Bounds {
    QueueBound requests, tokens;
  };

  /// A request's place in the queue, until leave() or the end of its life.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept {
      leave();
      block_budget_ = std::exchange(other.block_budget_, nullptr);
      owner_ = other.owner_;
      tokens_ = other.tokens_;
      return *this;
    }
    ~Place() { leave(); }

    void leave();

   private:
    friend class QueueUsage;
    Place(QueueUsage& block_budget, Owners::iterator owner, std::int64_t tokens)
        : block_budget_(&block_budget), owner_(owner), tokens_(tokens) {}

    QueueUsage* block_budget_ = nullptr;
    Owners::iterator owner_ = {};
    std::int64_t tokens_ = 0;
  };

  explicit QueueUsage(const Bounds& bounds) : bounds_(bounds) {}

  /// A place for a request of `tokens` tokens. Errors: the queue is full now (kQueueFull), or it could never fit, with
  /// the numbers. The owner "" may take all of the queue. Throws std::bad_alloc.
  Result<Place> enter(std::string_view owner, std::int64_t tokens);

 private:
  Result<void> check(std::string_view owner, const Held& of_owner, std::int64_t tokens) const;

  const Bounds bounds_;
  std::mutex mutex_;
  Held all_;
  Owners owners_;  // the owners of requests in the queue
};

}  // namespace octavo
