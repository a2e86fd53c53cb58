// Finds the masks of constrained choices between the draw of one token and the next.
//
//     Answers: a token was drawn ─ want() ─▶ find(), at the end of the step: what is kept, and walks for kMostMs in all
//                                              └─▶ a thread of its own, at lower priority, for the rest ─▶ collect()
//
// A choice whose mask is not ready has no row in a step (Sequence::waits_for_mask), so that others need not wait for
// it. Where a mask is found depends on time; what is in it, and when its work ends an answer, does not. Where there is
// no memory for a mask, its request ends, and no other.
//
// Owned by the engine; only the thread that drives it may call it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "engine/answers/active_request.h"

namespace octavo {

class MaskFinder {
 public:
  static constexpr double kMostMs = 2;  // the most time of walks in a step

  /// Masks have `num_drawable` tokens. The pool must outlive this.
  MaskFinder(ThreadPool& threads, int num_drawable, double most_ms = kMostMs);
  ~MaskFinder();
  MaskFinder(const MaskFinder&) = delete;
  MaskFinder& operator=(const MaskFinder&) = delete;

  /// Asks for the next mask of a choice, if its next token is drawn under the constraint.
  void want(const ActiveRequest& request, Choice& choice);
  /// Finds the mask that was asked for last, if that takes no walk. False: find() finds it with the others.
  bool find_at_once(Choice& choice);
  /// Finds the masks that were asked for since the last call, or hands them to the other thread.
  void find();
  /// Hands out the masks that the other thread has found.
  void collect();
  /// Whether the other thread has masks to find.
  bool has_jobs() const { return !jobs_.empty(); }
  /// Waits until one of these is ready, `most` at most.
  void wait(std::chrono::milliseconds most);

 private:
  struct Wanted {
    const ActiveRequest* request;
    Choice* choice;
  };

  bool find_one(const Wanted& wanted, const MaskSearch& search) const;
  void walk_within_step();
  void put_outside(const Wanted& wanted);
  void hand_over(const Wanted& wanted);
  void work(const std::stop_token& stop);
  static void find_outside(MaskJob& job) noexcept;
  std::shared_ptr<MaskJob> next_job();

  ThreadPool& threads_;
  const std::size_t num_words_;
  const std::chrono::duration<double, std::milli> most_time_;
  std::vector<Wanted> wanted_;                  // asked for in this step
  std::vector<std::size_t> groups_;             // where those of each constraint begin, while they are being found
  std::vector<std::shared_ptr<MaskJob>> jobs_;  // jobs that were not collected yet

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any has_work_, has_done_;
  std::deque<std::shared_ptr<MaskJob>> queue_;
  std::string last_owner_;
  int num_done_ = 0;     // jobs done since collect()
  std::jthread thread_;  // started with the first job
};

}  // namespace octavo
