// One picture on its way through a vision encoder, in pieces: some rows of one part of one layer at a time, so that
// others compute between two of them.
//
// A row's numbers depend neither on the sizes of pieces nor on the number of threads. Keys and values of a layer are
// those of all rows, as each sees each; scores are kept for a tile of positions at a time (kernels.h), never for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/vision_parts.h"

namespace octavo {

class VisionEncoding {
 public:
  /// VisionTower::begin() makes one. References must outlive it; `out` is [tokens, config.token_floats()]. Throws
  /// std::bad_alloc where there is no memory.
  VisionEncoding(const VisionConfig& config, VisionParts& parts, const Picture& picture, std::span<float> out);

  bool is_done() const { return task_ == tasks_.size(); }
  /// Computes the next piece, of at most about `most_work` multiply-adds, but eight rows at least, and returns those
  /// that it had. In a step of the tower's pool.
  std::uint64_t compute(std::uint64_t most_work);
  /// Multiply-adds so far, and of the whole picture: they tell how far it is.
  std::uint64_t done_work() const { return done_work_; }
  std::uint64_t total_work() const { return total_work_; }

 private:
  enum class Part : std::uint8_t { kPatches, kKeys, kAttention, kFeedForward, kMerger };
  /// A part over all rows, of patches or of tokens.
  struct Task {
    Part part;
    int index;               // of the layer, or of the vector that a merger makes
    std::uint64_t row_work;  // multiply-adds of a row
  };

  void add_task(Part part, int index, std::uint64_t row_work);
  void run(const Task& task, VisionRowRange range);
  std::int64_t num_rows(const Task& task) const {
    return task.part == Part::kMerger ? rows_.num_tokens() : rows_.num_patches();
  }

  const VisionConfig& config_;
  VisionParts& parts_;
  std::span<float> out_;
  VisionRows rows_;
  std::vector<Task> tasks_;  // in their order
  std::size_t task_ = 0;     // under way
  std::int64_t row_ = 0;     // its next one
  std::uint64_t done_work_ = 0, total_work_ = 0;
};

}  // namespace octavo
