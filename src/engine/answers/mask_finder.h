// Finds the masks of constrained choices between the draw of a token and the next one.
//
//     Answers: a token was drawn ─ want() ─▶ find(), at the end of the step: what is kept, and walks for kMostMs in all
//                                              └─▶ a thread of its own, at lower priority, for the rest ─▶ collect()
//
// A choice whose mask is not ready has no row in a step (Sequence::waits_for_mask), so that others wait for none. Where
// a mask is found depends on time; what it is, and when an answer ends for its work, does not. A mask that there is no
// memory for ends its request, and no other.
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
  static constexpr double kMostMs = 2;  // of a step, for walks

  /// Masks of `num_drawable` tokens. The pool must outlive this.
  MaskFinder(ThreadPool& threads, int num_drawable, double most_ms = kMostMs);
  ~MaskFinder();
  MaskFinder(const MaskFinder&) = delete;
  MaskFinder& operator=(const MaskFinder&) = delete;

  /// The choice has moved on: its next mask is wanted, if its next token is drawn under the constraint.
  void want(const ActiveRequest& request, Choice& choice);
  /// Finds the mask of a choice that wanted it last, if that takes no walk. False: it is found with the others.
  bool find_at_once(Choice& choice);
  /// Finds the masks that were wanted since the last call, or hands them to the thread of its own.
  void find();
  /// Hands out the masks that the other thread has found.
  void collect();
  /// Masks are being found outside.
  bool has_jobs() const { return !jobs_.empty(); }
  /// Waits until one of these is ready, for so long at most.
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
  std::vector<Wanted> wanted_;                  // of this step
  std::vector<std::size_t> groups_;             // where those of one constraint begin, while they are found
  std::vector<std::shared_ptr<MaskJob>> jobs_;  // that were not collected

  std::mutex mutex_;  // of what follows
  std::condition_variable_any has_work_, has_done_;
  std::deque<std::shared_ptr<MaskJob>> queue_;
  std::string last_owner_;
  int num_done_ = 0;     // since collect()
  std::jthread thread_;  // once there is a job
};

}  // namespace octavo
