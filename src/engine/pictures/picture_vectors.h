// The vectors of pictures: computed when rows need them, once for all who wait, and kept while there is room.
//
//     Step: serve(running) ─ what the next rows need, by rank ─▶ a thread of its own: the encoder, piece by piece
//                          ◀─ vectors ──────────────────────────┘
//
// A sequence's rows before a picture are computed meanwhile; from the picture on it has none until its vectors are
// there (Sequence::num_ready). Between two pieces the steps of engines that share the threads go on, and while a
// picture is encoded they have the shorter steps of engines that share.
//
// Memory is bounded. What no running sequence needs goes first, by age; then what one of worse rank needs, which is
// computed again with the same bits. So the best rank always goes on, and nobody waits for each other.
//
// Owned by the engine. Any thread may call rows_of() and counts(); all else is called by the thread that drives it.
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
    std::uint64_t max_bytes = 0;  // of vectors
    double piece_ms = 0;          // that a piece is to take
  };

  /// All of these must outlive it.
  PictureVectors(PictureEncoder& encoder, ThreadPool& threads, ActiveEngines& engines, const Settings& settings);
  ~PictureVectors();
  PictureVectors(const PictureVectors&) = delete;
  PictureVectors& operator=(const PictureVectors&) = delete;

  int row_floats() const { return encoder_.row_floats(); }
  /// The most tokens of a picture whose vectors have room.
  std::int64_t max_tokens() const;
  /// The rows of a picture, which all in a cache domain share. Throws std::bad_alloc.
  std::shared_ptr<PictureRows> rows_of(const std::shared_ptr<const PreparedPicture>& picture, std::string_view domain);

  /// Between two steps: hands out what is computed, and begins what the sequences, which are in order of rank, need
  /// next. Throws std::bad_alloc.
  void serve(std::span<Sequence* const> running);
  /// A picture is being encoded.
  bool is_busy() const { return job_ != nullptr; }
  /// Waits until it is done, for so long at most.
  void wait(std::chrono::milliseconds most);
  /// Gives the vectors up that none of the sequences needs, which are in order of rank.
  void release(std::span<Sequence* const> running);

  PictureCounts counts() const;

 private:
  struct Job {
    std::shared_ptr<PictureRows> rows;
    std::uint64_t num_floats = 0;
    std::vector<float> vectors = {};  // the encoder's thread alone, until it is done
    std::atomic<bool> is_dropped = false, is_done = false;
    std::atomic<std::int32_t> num_encoded = 0;  // tokens, by the share of its work
    bool has_failed = false;
    double seconds = 0;
  };
  struct Kept {
    std::shared_ptr<PictureRows> rows;
    std::vector<float> vectors;
    std::uint64_t last_turn = 0;  // in which a sequence needed it
    std::size_t last_place = 0;   // of that sequence among those that ran
  };
  struct Wanted {
    std::shared_ptr<PictureRows> rows;
    std::size_t place;  // of the sequence
    bool is_next;       // its next rows need it; otherwise later ones
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
  std::uint64_t work_a_piece_;  // the encoder's thread alone
  std::list<Kept> kept_;
  std::uint64_t kept_bytes_ = 0;
  std::vector<Wanted> wanted_;  // of this turn
  std::uint64_t turn_ = 0;
  std::shared_ptr<Job> job_;  // null: none

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable_any has_work_, has_done_;
  std::shared_ptr<Job> next_;                                // for the thread
  std::map<std::string, std::weak_ptr<PictureRows>> known_;  // by digest and domain
  PictureCounts counts_;
  std::jthread thread_;  // once there is a job
};

}  // namespace octavo
