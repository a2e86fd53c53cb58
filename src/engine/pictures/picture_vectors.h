// The vectors of pictures: computed when rows need them, once for all that wait, and kept while there is room.
//
//     Step: serve(running) ─ what the next rows need, by rank ─▶ a thread of its own: the encoder, piece by piece
//                          ◀─ vectors ──────────────────────────┘
//
// A sequence's rows before a picture are computed meanwhile; from the picture on it has none until the vectors are
// there (Sequence::num_ready). Between two pieces, engines that share the threads compute steps; while a picture is
// being encoded, these are as short as if another engine had work.
//
// Memory is bounded. Vectors that no running sequence needs go first, the oldest first; then those that only sequences
// of worse rank need, which are computed again later with the same bits. So the best rank always goes on, and no two
// sequences wait for each other.
//
// Owned by the engine. Any thread may call rows_of() and counts(); the thread that drives the engine calls all else.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "engine/pictures/picture_encoder.h"
#include "engine/schedule/active_engines.h"
#include "engine/schedule/sequence.h"
#include "octavo/engine.h"

namespace octavo {

class PictureVectors {
 public:
  struct Settings {
    std::uint64_t max_bytes = 0;  // the most bytes of all vectors
    double piece_ms = 0;          // the time that a piece should take
  };

  /// All references must outlive it.
  PictureVectors(PictureEncoder& encoder, ThreadPool& threads, ActiveEngines& engines, const Settings& settings);
  ~PictureVectors();
  PictureVectors(const PictureVectors&) = delete;
  PictureVectors& operator=(const PictureVectors&) = delete;

  int row_floats() const { return encoder_.row_floats(); }
  /// The most tokens of a picture for whose vectors there is room.
  std::int64_t max_tokens() const;
  /// The rows of a picture, which all requests of a cache domain share. Throws std::bad_alloc.
  std::shared_ptr<PictureRows> rows_of(const std::shared_ptr<const PreparedPicture>& picture, std::string_view domain);

  /// Hands out computed vectors and begins the pictures that sequences need next. Called between two steps; `running`
  /// is in order of rank. Throws std::bad_alloc.
  void serve(std::span<Sequence* const> running);
  /// Whether a picture is being encoded.
  bool is_busy() const { return job_ != nullptr; }
  /// Waits until that is done, `most` at most.
  void wait(std::chrono::milliseconds most);
  /// Frees the vectors that no sequence in `running` needs; these are in order of rank.
  void release(std::span<Sequence* const> running);

  PictureCounts counts() const;

 private:
  struct Job {
    std::shared_ptr<PictureRows> rows;
    std::uint64_t num_floats = 0;
    std::vector<float> vectors = {};  // used by the encoder's thread alone, until it is done
    std::atomic<bool> is_dropped = false, is_done = false;
    std::atomic<std::int32_t> num_encoded = 0;  // in tokens, by the share of the work
    bool has_failed = false;
    double seconds = 0;
  };
  struct Kept {
    std::shared_ptr<PictureRows> rows;
    std::vector<float> vectors;
    std::uint64_t last_turn = 0;  // the last one in which a sequence needed it
    std::size_t last_place = 0;   // the index of that sequence among those that ran
  };
  struct Wanted {
    std::shared_ptr<PictureRows> rows;
    std::size_t place;  // the index of the sequence
    bool is_next;       // its next rows need the picture; else only later ones
  };

  void collect();
  void note_all(std::span<Sequence* const> running);
  void note(const Sequence& sequence, std::size_t place);
  void begin_next();
  void begin(const Wanted& wanted, std::uint64_t bytes);
  bool make_room(std::uint64_t bytes, const Wanted& wanted);
  void drop_unwanted();
  void drop_pixels();
  void work(const std::stop_token& stop);
  void encode(Job& job, const std::stop_token& stop);
  std::uint64_t bytes_of(const PictureRows& rows) const;

  PictureEncoder& encoder_;
  ThreadPool& threads_;
  ActiveEngines& engines_;
  const Settings settings_;
  std::uint64_t work_a_piece_;  // used by the encoder's thread alone
  std::list<Kept> kept_;
  std::uint64_t kept_bytes_ = 0;
  std::vector<Wanted> wanted_;  // in this turn
  std::uint64_t turn_ = 0;
  std::shared_ptr<Job> job_;  // null: no picture is being encoded

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any has_work_, has_done_;
  std::shared_ptr<Job> next_;                                // for the encoder's thread
  std::map<std::string, std::weak_ptr<PictureRows>> known_;  // by digest and cache domain
  PictureCounts counts_;
  std::jthread thread_;  // started with the first job
};

}  // namespace octavo
