#include "engine/pictures/picture_vectors.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/started_thread.h"
#include "base/to_size.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFirstPiece = 20'000'000;  // multiply-adds, while the time of a piece is not known
constexpr double kMostGrowth = 2;                  // the most growth of a piece's work from one piece to the next

}  // namespace

PictureVectors::PictureVectors(PictureEncoder& encoder, ThreadPool& threads, ActiveEngines& engines,
                               const Settings& settings)
    : encoder_(encoder), threads_(threads), engines_(engines), settings_(settings), work_a_piece_(kFirstPiece) {}

PictureVectors::~PictureVectors() {
  if (job_ != nullptr) job_->is_dropped = true;
}

std::uint64_t PictureVectors::bytes_of(const PictureRows& rows) const {
  return std::uint64_t{4} * to_size(rows.grid_rows) * to_size(rows.grid_columns) * to_size(rows.row_floats);
}

std::int64_t PictureVectors::max_tokens() const {
  return static_cast<std::int64_t>(settings_.max_bytes / (std::uint64_t{4} * to_size(row_floats())));
}

std::shared_ptr<PictureRows> PictureVectors::rows_of(const std::shared_ptr<const PreparedPicture>& picture,
                                                     std::string_view domain) {
  std::string key(picture->digest.begin(), picture->digest.end());
  key += domain;
  const std::lock_guard lock(mutex_);
  if (std::shared_ptr<PictureRows> rows = known_[key].lock()) {
    if (picture->ends_picture) ++counts_.found;
    if (rows->picture == nullptr) rows->picture = picture;
    return rows;
  }
  std::erase_if(known_, [&](const auto& entry) { return entry.first != key && entry.second.expired(); });
  auto rows = std::make_shared<PictureRows>(PictureRows{.picture = picture,
                                                        .grid_rows = picture->rows,
                                                        .grid_columns = picture->columns,
                                                        .row_floats = row_floats(),
                                                        .ends_picture = picture->ends_picture});
  known_[key] = rows;
  return rows;
}

void PictureVectors::serve(std::span<Sequence* const> running) {
  collect();
  note_all(running);
  drop_unwanted();
  drop_pixels();
  if (job_ == nullptr && !wanted_.empty()) begin_next();
}

void PictureVectors::note_all(std::span<Sequence* const> running) {
  ++turn_;
  wanted_.clear();
  for (std::size_t place = 0; place < running.size(); ++place)
    if (!running[place]->given.rows.empty()) note(*running[place], place);
}

void PictureVectors::collect() {
  if (job_ != nullptr) job_->rows->num_encoded = job_->num_encoded;
  if (job_ == nullptr || !job_->is_done) return;
  const std::shared_ptr<Job> job = std::exchange(job_, nullptr);
  const std::lock_guard lock(mutex_);
  if (job->is_dropped || job->has_failed) {
    job->rows->has_failed = job->has_failed;
    kept_bytes_ -= bytes_of(*job->rows);
    counts_.bytes = kept_bytes_;
    return;
  }
  if (job->rows->ends_picture) ++counts_.encoded;
  counts_.encode_s += job->seconds;
  kept_.push_back({.rows = job->rows, .vectors = std::move(job->vectors), .last_turn = turn_});
  job->rows->vectors = kept_.back().vectors.data();
  job->rows->encode_s = job->seconds;
}

/// Notes the pictures of a sequence with rows to compute: those with vectors are needed, the others are wanted.
void PictureVectors::note(const Sequence& sequence, std::size_t place) {
  bool is_next = true;
  const int begin = std::max(sequence.num_computed, sequence.notes.joint_end);  // a joint pass has taken its vectors
  for (std::size_t i = 0; i < sequence.given.rows.size(); ++i) {
    if (sequence.given.rows[i].end() <= begin) continue;
    const std::shared_ptr<PictureRows>& rows = sequence.given.pictures[i];
    if (i > 0 && rows == sequence.given.pictures[i - 1] && sequence.given.rows[i - 1].end() > begin)
      continue;  // another part of the same picture
    if (rows->vectors == nullptr) {
      if (!rows->has_failed) wanted_.push_back({.rows = rows, .place = place, .is_next = is_next});
      is_next = false;
      continue;
    }
    const auto kept = std::ranges::find(kept_, rows, &Kept::rows);
    if (!is_next || kept->last_turn == turn_) continue;
    kept->last_turn = turn_;
    kept->last_place = place;
  }
}

/// Drops pictures that nobody wants any more. One that is being encoded goes on without an owner.
void PictureVectors::drop_unwanted() {
  if (job_ == nullptr || job_->is_done) return;
  const bool is_held = std::ranges::any_of(wanted_, [&](const Wanted& w) { return w.rows == job_->rows; });
  if (!is_held && job_->rows.use_count() == 1) job_->is_dropped = true;
}

/// Drops pixels that no sequence needs. Vectors stay for whoever brings the picture again, with its pixels.
void PictureVectors::drop_pixels() {
  for (const Kept& kept : kept_) {
    if (kept.rows.use_count() > 1 || kept.rows->picture == nullptr) continue;
    const std::lock_guard lock(mutex_);
    if (kept.rows.use_count() == 1) kept.rows->picture.reset();
  }
}

/// Begins the next pictures of all sequences, by rank; then later ones, as long as that takes no room from others.
void PictureVectors::begin_next() {
  std::ranges::stable_partition(wanted_, &Wanted::is_next);
  for (const Wanted& wanted : wanted_) {
    const std::uint64_t bytes = bytes_of(*wanted.rows);
    if (!make_room(bytes, wanted)) {
      if (wanted.is_next) return;  // others have the room, and it is their turn
      continue;
    }
    try {
      begin(wanted, bytes);
    } catch (const std::exception&) {  // the system refuses a thread or memory
      wanted.rows->has_failed = true;
    }
    return;
  }
}

void PictureVectors::begin(const Wanted& wanted, std::uint64_t bytes) {
  auto job = std::make_shared<Job>();
  job->rows = wanted.rows;
  job->num_floats = bytes / sizeof(float);
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable())
    thread_ = start_thread([this](const std::stop_token& stop) { work(stop); }, [](const Error&) {});
  job_ = next_ = std::move(job);
  kept_bytes_ += bytes;
  counts_.bytes = kept_bytes_;
  has_work_.notify_one();
}

bool PictureVectors::make_room(std::uint64_t bytes, const Wanted& wanted) {
  const auto may_go = [&](const Kept& kept) {
    return kept.last_turn != turn_ || (wanted.is_next && kept.last_place > wanted.place);
  };
  while (kept_bytes_ + bytes > settings_.max_bytes) {
    auto victim = kept_.end();
    for (auto at = kept_.begin(); at != kept_.end(); ++at)
      if (may_go(*at) && (victim == kept_.end() || at->last_turn < victim->last_turn)) victim = at;
    if (victim == kept_.end()) return false;
    kept_bytes_ -= bytes_of(*victim->rows);
    victim->rows->vectors = nullptr;
    kept_.erase(victim);
  }
  return true;
}

void PictureVectors::release(std::span<Sequence* const> running) {
  collect();
  note_all(running);
  for (auto at = kept_.begin(); at != kept_.end();) {
    if (at->last_turn == turn_) {
      ++at;
      continue;
    }
    kept_bytes_ -= bytes_of(*at->rows);
    at->rows->vectors = nullptr;
    at = kept_.erase(at);
  }
  const std::lock_guard lock(mutex_);
  counts_.bytes = kept_bytes_;
}

void PictureVectors::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  has_done_.wait_for(lock, most, [this] { return job_ == nullptr || job_->is_done; });
}

PictureCounts PictureVectors::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

/// The work of the thread of its own.
void PictureVectors::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      if (!has_work_.wait(lock, stop, [this] { return next_ != nullptr; })) return;
      job = std::move(next_);
      next_ = nullptr;
    }
    try {
      encode(*job, stop);
    } catch (const std::exception&) {  // the system has no memory
      job->has_failed = true;
    }
    encoder_.end();
    const std::lock_guard lock(mutex_);
    job->is_done = true;
    has_done_.notify_all();
  }
}

void PictureVectors::encode(Job& job, const std::stop_token& stop) {
  ActiveEngines::Membership membership(engines_);
  membership.set_active(true);
  job.vectors.resize(job.num_floats);
  if (!encoder_.begin(*job.rows->picture, job.vectors)) {
    job.has_failed = true;
    return;
  }
  while (!job.is_dropped && !stop.stop_requested()) {
    std::uint64_t done = 0;
    Clock::time_point begin;
    {
      const ThreadPool::Step workers(threads_);
      begin = Clock::now();
      done = encoder_.compute(work_a_piece_);
    }
    if (done == 0) return;
    job.num_encoded = static_cast<std::int32_t>(encoder_.done_share() * job.rows->picture->num_tokens());
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    job.seconds += ms / 1000;
    const double fitting = static_cast<double>(done) * settings_.piece_ms / std::max(ms, 1e-3);
    work_a_piece_ = static_cast<std::uint64_t>(std::clamp(fitting, 1.0, kMostGrowth * static_cast<double>(done)));
  }
  job.is_dropped = true;
}

}  // namespace octavo
