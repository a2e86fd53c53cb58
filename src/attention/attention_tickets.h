// Tickets: the portions in which threads take the tasks of a round of an AttentionPlan.
//
// A ticket is one task of a reading with many queries, or of a range of heads. For other readings a ticket is a tile
// through all heads, whose tasks lie one after the other, and towards the end a single task, so that no thread waits
// long. Tiles of many queries are taken heads by heads, as many as a thread's portion has: a thread mostly merges its
// own results, which between cores without a common cache saves up to a twentieth.
//
// The plan owns it. One thread begins a round; all threads of the pool may call next().
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace octavo {

/// Tasks of a round by kind, in the order of their numbers.
struct AttentionTasks {
  std::size_t by_many = 0;   // tasks of readings with more than kMaxTileQueries, which come first,
  std::size_t by_tiles = 0;  // tasks of readings cut by tiles, the first of these
  std::size_t ranges = 0;    // tasks of ranges of heads, which follow
  std::size_t few = 0;       // the others
};

class AttentionTickets {
 public:
  AttentionTickets(int num_kv_heads, int num_threads);

  /// Begins a round with these tasks, all of them free.
  void begin(const AttentionTasks& tasks);

  /// The tasks [first, end) of a worker's next ticket; none when all are taken.
  std::optional<std::pair<std::size_t, std::size_t>> next(int worker);
  /// Whether there are tickets that nobody has taken: threads have left early.
  bool has_more() const;

 private:
  // The number of tickets that are not taken yet.
  struct alignas(64) Portion {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  std::size_t count() const { return tasks_.by_many + tasks_.ranges + tile_tickets_ + singles_; }
  std::pair<std::size_t, std::size_t> tasks_of(std::size_t ticket) const;
  std::size_t task_of_many(std::size_t i) const;

  const std::size_t num_heads_;          // the number of KV heads: tasks of a tile's ticket
  const std::size_t heads_per_portion_;  // the number of heads whose tiles a thread's portion has
  AttentionTasks tasks_;
  std::size_t tile_tickets_ = 0;   // tickets of a tile through all heads
  std::size_t singles_ = 0;        // tickets of one task, at the end
  std::vector<Portion> portions_;  // [threads + 1] the last portion, of single tasks, is for all threads
};

}  // namespace octavo
