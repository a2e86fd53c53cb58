#include "attention/attention_tickets.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {

AttentionTickets::AttentionTickets(int num_kv_heads, int num_threads)
    : num_heads_(to_size(num_kv_heads)),
      heads_per_portion_(std::max<std::size_t>(1, to_size(num_kv_heads) / to_size(num_threads))),
      portions_(to_size(num_threads) + 1) {}

// Each thread has a portion of consecutive tickets, then takes what others have left, then the single tasks. Two
// threads that took neighbouring tickets by turns would each read memory at a lower rate.
void AttentionTickets::begin(const AttentionTasks& tasks) {
  const std::size_t threads = portions_.size() - 1;
  tasks_ = tasks;
  tile_tickets_ = (tasks.few - std::min(tasks.few, threads * num_heads_)) / num_heads_;
  singles_ = tasks.few - tile_tickets_ * num_heads_;
  const std::size_t divided = count() - singles_;
  for (std::size_t w = 0; w < threads; ++w) {
    portions_[w].next.store(divided * w / threads, std::memory_order_relaxed);
    portions_[w].end = divided * (w + 1) / threads;
  }
  portions_[threads].next.store(divided, std::memory_order_relaxed);
  portions_[threads].end = count();
}

std::optional<std::pair<std::size_t, std::size_t>> AttentionTickets::next(int worker) {
  const std::size_t threads = portions_.size() - 1;
  for (std::size_t i = 0; i <= threads; ++i) {
    Portion& portion = portions_[i == threads ? threads : (to_size(worker) + i) % threads];
    if (portion.next.load(std::memory_order_relaxed) >= portion.end) continue;
    const std::size_t ticket = portion.next.fetch_add(1, std::memory_order_relaxed);
    if (ticket < portion.end) return tasks_of(ticket);
  }
  return std::nullopt;
}

bool AttentionTickets::has_more() const {
  return std::ranges::any_of(
      portions_, [](const Portion& portion) { return portion.next.load(std::memory_order_relaxed) < portion.end; });
}

// The i-th task of many queries that is taken: some heads of all tiles, then the next heads of all of them; then the
// pieces of prompts.
std::size_t AttentionTickets::task_of_many(std::size_t i) const {
  if (i >= tasks_.by_tiles) return i;
  const std::size_t tiles = tasks_.by_tiles / num_heads_;
  const std::size_t first_head = i / (tiles * heads_per_portion_) * heads_per_portion_;
  const std::size_t some_heads = std::min(heads_per_portion_, num_heads_ - first_head);
  const std::size_t of_these = i - first_head * tiles;
  return of_these / some_heads * num_heads_ + first_head + of_these % some_heads;
}

// Tasks of many queries are spread evenly among the ranges and three quarters of the tiles.
std::pair<std::size_t, std::size_t> AttentionTickets::tasks_of(std::size_t ticket) const {
  const std::size_t by_many = tasks_.by_many, ranges = tasks_.ranges;
  const auto other = [&](std::size_t i) {
    const std::size_t first = by_many + (i < ranges ? i : ranges + (i - ranges) * num_heads_);
    return std::pair(first, first + (i < ranges ? 1 : num_heads_));
  };
  const std::size_t mixed = by_many + ranges + tile_tickets_ - tile_tickets_ / 4;
  if (ticket < mixed) {
    const auto by_many_before = [&](std::size_t t) { return (t * by_many + mixed - 1) / mixed; };
    const std::size_t before = by_many_before(ticket);
    if (by_many_before(ticket + 1) == before) return other(ticket - before);
    const std::size_t task = task_of_many(before);
    return {task, task + 1};
  }
  const std::size_t before_singles = by_many + ranges + tile_tickets_;
  if (ticket < before_singles) return other(ticket - by_many);
  const std::size_t first = by_many + ranges + tile_tickets_ * num_heads_ + (ticket - before_singles);
  return {first, first + 1};
}

}  // namespace octavo
