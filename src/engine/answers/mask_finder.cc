#include "engine/answers/mask_finder.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/started_thread.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr int kNiceness = 10;  // gets about a tenth of a processor that others keep busy

/// Lowers this thread's priority, which Linux keeps for each thread. Where that fails, the thread runs like any other.
void lower_priority() { setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNiceness); }

}  // namespace

MaskFinder::MaskFinder(ThreadPool& threads, int num_drawable, double most_ms)
    : threads_(threads), num_words_(mask_words(to_size(num_drawable))), most_time_(most_ms) {}

MaskFinder::~MaskFinder() {
  for (const std::shared_ptr<MaskJob>& job : jobs_) job->is_dropped = true;
}

void MaskFinder::want(const ActiveRequest& request, Choice& choice) {
  choice.mask.drop();
  if (!choice.active || !choice.is_constrained()) return;
  wanted_.push_back({&request, &choice});
}

bool MaskFinder::find_at_once(Choice& choice) {
  if (wanted_.empty() || wanted_.back().choice != &choice) return !choice.is_constrained();
  if (!find_one(wanted_.back(), {.waits = false, .walks = false})) return false;
  wanted_.pop_back();
  return true;
}

void MaskFinder::find() {
  const auto is_over = [](const Wanted& wanted) { return !wanted.choice->active; };  // a callback has ended it
  std::erase_if(wanted_, is_over);
  std::erase_if(wanted_, [this](const Wanted& wanted) { return find_one(wanted, {.waits = false, .walks = false}); });
  try {
    if (!wanted_.empty()) walk_within_step();
  } catch (const std::exception&) {
    groups_.clear();  // there is no memory: the other thread finds the rest, or fails at it
  }
  for (const Wanted& wanted : wanted_)
    if (wanted.choice->mask.state == NextMask::State::kUnknown) put_outside(wanted);
  wanted_.clear();
}

/// Finds a mask. False: it is not ready, or there is no memory.
bool MaskFinder::find_one(const Wanted& wanted, const MaskSearch& search) const try {
  NextMask& mask = wanted.choice->mask;
  mask.bits.assign(num_words_, 0);
  const FoundMask found = wanted.choice->constraint.allow(mask.bits, search);
  if (found.outcome == FoundMask::Outcome::kNotReady) return false;
  mask.set(found);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

/// Walks within the step. Walks over one constraint are one piece of work, done one after another.
void MaskFinder::walk_within_step() {
  const auto constraint_of = [](const Wanted& wanted) { return wanted.request->constraint.get(); };
  std::ranges::sort(wanted_, {}, constraint_of);
  groups_.clear();
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (i == 0 || constraint_of(wanted_[i]) != constraint_of(wanted_[i - 1])) groups_.push_back(i);
  groups_.push_back(wanted_.size());
  const ThreadPool::Step workers(threads_);
  const auto until = MaskSearch::Clock::now() + std::chrono::duration_cast<MaskSearch::Clock::duration>(most_time_);
  threads_.for_ranges(groups_.size() - 1, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = groups_[begin]; i < groups_[end] && MaskSearch::Clock::now() < until; ++i)
      find_one(wanted_[i], {.waits = false, .until = until});
  });
}

void MaskFinder::put_outside(const Wanted& wanted) {
  try {
    hand_over(wanted);
  } catch (const std::exception&) {  // the system refuses a thread or memory
    wanted.choice->mask.drop();
    wanted.choice->mask.state = NextMask::State::kFailed;
    wanted.choice->sequence.waits_for_mask = false;
  }
}

void MaskFinder::hand_over(const Wanted& wanted) {
  auto job = std::make_shared<MaskJob>();
  job->choice = wanted.choice;
  job->owner = wanted.request->owner;
  job->state = wanted.choice->constraint;
  job->bits.resize(num_words_);
  wanted.choice->mask.state = NextMask::State::kOutside;
  wanted.choice->mask.job = job;
  wanted.choice->sequence.waits_for_mask = true;
  jobs_.push_back(job);
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable())  // where it cannot start, each job fails for itself
    thread_ = start_thread([this](const std::stop_token& stop) { work(stop); }, [](const Error&) {});
  queue_.push_back(std::move(job));
  has_work_.notify_one();
}

void MaskFinder::collect() {
  if (jobs_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    num_done_ = 0;
  }
  std::erase_if(jobs_, [](const std::shared_ptr<MaskJob>& job) {
    if (job->choice == nullptr) return true;
    if (!job->is_done) return false;
    NextMask& mask = job->choice->mask;
    mask.bits.swap(job->bits);
    mask.set(job->found);
    if (job->has_failed) mask.state = NextMask::State::kFailed;
    mask.job = nullptr;
    job->choice->sequence.waits_for_mask = false;
    return true;
  });
}

void MaskFinder::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  has_done_.wait_for(lock, most, [this] { return num_done_ > 0; });
}

/// The work of the thread of its own.
void MaskFinder::work(const std::stop_token& stop) {
  lower_priority();
  while (!stop.stop_requested()) {
    std::shared_ptr<MaskJob> job;
    {
      std::unique_lock lock(mutex_);
      if (!has_work_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      job = next_job();
    }
    find_outside(*job);
    const std::lock_guard lock(mutex_);
    job->is_done = true;
    ++num_done_;
    has_done_.notify_one();
  }
}

void MaskFinder::find_outside(MaskJob& job) noexcept {
  try {
    if (!job.is_dropped) job.found = job.state.allow(job.bits, {.stop = &job.is_dropped});
  } catch (...) {
    job.has_failed = true;
  }
}

/// The next job, of another owner than the last one's if there is one.
std::shared_ptr<MaskJob> MaskFinder::next_job() {
  const auto is_of_another = [this](const std::shared_ptr<MaskJob>& job) { return job->owner != last_owner_; };
  auto next = std::ranges::find_if(queue_, is_of_another);
  if (next == queue_.end()) next = queue_.begin();
  std::shared_ptr<MaskJob> job = std::move(*next);
  queue_.erase(next);
  last_owner_ = job->owner;
  return job;
}

}  // namespace octavo
