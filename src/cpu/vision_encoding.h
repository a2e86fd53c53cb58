// One picture on its way through a vision encoder, in pieces: some rows of one part of one layer at a time, so that
// other work can be done between two pieces.
//
// A row's numbers depend neither on the size of pieces nor on the number of threads. Every row attends over keys and
// values of all rows; scores are kept for one tile of positions at a time (kernels.h), never for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/vision_parts.h"

namespace octavo {

class VisionEncoding {
 public:
  /// Made by VisionTower::begin(). References must outlive it; `out` is [tokens, config.token_floats()]. Throws
  /// std::bad_alloc where there is no memory.
  VisionEncoding(const VisionConfig& config, VisionParts& parts, const Picture& picture, std::span<float> out);

  bool is_done() const { return task_ == tasks_.size(); }
  /// Computes the next piece, of about `most_work` multiply-adds at most but at least eight rows; returns its
  /// multiply-adds. It is called in a step of the tower's pool.
  std::uint64_t compute(std::uint64_t most_work);
  /// The multiply-adds done so far, and those of the whole picture.
  std::uint64_t done_work() const { return done_work_; }
  std::uint64_t total_work() const { return total_work_; }

 private:
  enum class Part : std::uint8_t { kPatches, kKeys, kAttention, kFeedForward, kRowJoin, kMerger };
  /// One part over all rows of patches, or of joined ones, or of tokens.
  struct Task {
    Part part;
    int index;               // the number of the layer, or of the merger's vector
    std::uint64_t row_work;  // the multiply-adds of a row
    std::int64_t num_rows;
  };

  void add_task(Part part, int index, std::uint64_t row_work, std::int64_t num_rows);
  /// Adds a layer's keys and attention; each of `num_rows` rows sees so many.
  void add_attention(int layer, std::int64_t num_rows, std::int64_t seen);
  void run(const Task& task, VisionRowRange range);

  const VisionConfig& config_;
  VisionParts& parts_;
  std::span<float> out_;
  VisionRows rows_;
  std::vector<Task> tasks_;  // in order
  std::size_t task_ = 0;     // the index of the current one
  std::int64_t row_ = 0;     // the next row of the current task
  std::uint64_t done_work_ = 0, total_work_ = 0;
};

}  // namespace octavo
