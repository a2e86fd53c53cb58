// The parts of a vision encoder, each over some rows of a picture: patches, layers, mergers.
//
// A tower owns it. It has what the tower's encodings share: scratch for the rows of a piece. One thread at a time calls
// it, inside a pool step.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/attention_plan.h"
#include "base/aligned_buffer.h"
#include "cpu/compute_context.h"
#include "cpu/dense_ffn.h"
#include "cpu/residual_stream.h"
#include "cpu/vision_weights.h"
#include "model/vision_config.h"
#include "stage/rope_table.h"
#include "vision/picture.h"

namespace octavo {

/// Rows first .. first + count of a picture.
struct VisionRowRange {
  std::int64_t first = 0;
  int count = 0;
};

/// Where a patch is in its picture, counted in patches.
struct PatchPlace {
  int row = 0, column = 0;
};

/// The rows kept of a picture while it is encoded. They are patches, token by token; the patches of a token are ordered
/// row by row.
class VisionRows {
 public:
  /// References must outlive it. Throws std::bad_alloc where there is no memory.
  VisionRows(const VisionConfig& config, Math math, const Picture& picture);

  /// The memory for a picture of `rows` x `columns` patches.
  static std::uint64_t bytes(const VisionConfig& config, int rows, int columns);

  const Picture& picture() const { return picture_; }
  std::int64_t num_patches() const { return std::int64_t{rows_} * columns_; }
  std::int64_t num_tokens() const { return num_patches() / config_.token_patches(); }
  PatchPlace place_of(std::int64_t patch) const;
  float* x(std::int64_t patch) { return x_.data() + patch * config_.width; }

  /// The keys and values of the current layer.
  const KvLayer& kv() const { return kv_; }
  std::span<const std::int32_t> blocks() const { return blocks_; }

  /// The cosines and sines of a patch's row or column, [head_dim / 4] each.
  std::span<const float> cosines(int coordinate) const {
    return of_coordinate(angles_.cosines(num_angles()), coordinate);
  }
  std::span<const float> sines(int coordinate) const { return of_coordinate(angles_.sines(num_angles()), coordinate); }

  /// The two places in the grid of learned positions between which a row or column lies, and how far it is from the
  /// first to the second.
  struct Tap {
    int first = 0, second = 0;
    float part = 0;
  };
  const Tap& row_tap(int row) const { return row_taps_[to_size(row)]; }
  const Tap& column_tap(int column) const { return column_taps_[to_size(column)]; }

 private:
  std::size_t num_angles() const { return to_size(std::max(rows_, columns_)); }
  std::span<const float> of_coordinate(std::span<const float> all, int coordinate) const {
    const std::size_t each = all.size() / num_angles();
    return all.subspan(to_size(coordinate) * each, each);
  }

  const VisionConfig& config_;
  const Picture& picture_;
  int rows_, columns_;      // in patches
  AlignedBuffer<float> x_;  // [patches, width]
  AlignedBuffer<std::uint8_t> kv_memory_;
  KvLayer kv_ = {};
  std::vector<std::int32_t> blocks_;
  RopeTable angles_;  // [coordinates]
  std::vector<Tap> row_taps_, column_taps_;
};

class VisionParts {
 public:
  /// The most and the fewest rows of a piece. Pieces are multiples of the latter, so that row tiles are whole.
  static constexpr int kMostRows = 512, kLeastRows = 8;
  /// The most tokens of a merger's piece.
  static int most_tokens(const VisionConfig& config);

  /// References must outlive it.
  VisionParts(const VisionConfig& config, const VisionWeights& weights, const KernelTable& kernels, Math math,
              ThreadPool& pool);

  Math math() const { return context_.math; }
  std::uint64_t scratch_bytes() const;

  /// Makes rows of patches from the picture's pixels.
  void embed(VisionRows& rows, VisionRowRange range);
  /// Writes the keys and values of a layer.
  void write_keys(VisionRows& rows, int layer, VisionRowRange range);
  /// Attends in a layer, over the keys and values of all rows.
  void attend(VisionRows& rows, int layer, VisionRowRange range);
  void feed_forward(VisionRows& rows, int layer, VisionRowRange range);
  /// Writes vectors of the tokens in the range to `out`, [tokens, token_floats]: vector 0 is made of the last layer's
  /// rows, the others of rows after the DeepStack layers.
  void merge(VisionRows& rows, int vector, VisionRowRange tokens, std::span<float> out);

 private:
  static NormOptions norms_of(const VisionConfig& config);
  /// Norms rows of the picture as a part's input.
  void norm_rows(VisionRows& rows, const float* weight, const float* bias, RowForms forms, VisionRowRange range);
  /// Adds a part's results, with their bias, to the picture's rows.
  void add_results(VisionRows& rows, const float* bias, VisionRowRange range);
  void gather_patch(const VisionRows& rows, std::int64_t patch, float* out) const;
  void add_position(const VisionRows& rows, std::int64_t patch, float* x) const;
  /// Writes the angles of a patch into the worker's scratch: cosines, then sines, [head_dim / 2] each.
  float* angles_of(const VisionRows& rows, std::int64_t patch, int worker);
  void rotate_heads(const float* angles, int num_heads, float* heads) const;
  void norm_tokens(VisionRows& rows, int vector, VisionRowRange tokens);

  const VisionConfig& config_;
  const VisionWeights& weights_;
  const AttentionSpec& attention_;  // the same in every layer
  ComputeContext context_;          // for patches
  ComputeContext merged_context_;   // for tokens
  ResidualStream stream_;           // [rows, width]
  ResidualStream merged_;           // [tokens, merged width]
  DenseFfn ffn_, merged_ffn_;
  AttentionPlan plan_;
  std::array<std::array<float, 256>, 3> pixels_ = {};  // the numbers of all values of each channel
  AlignedBuffer<float> patches_;                       // [rows, patch_width]
  AlignedBuffer<float> q_, attended_;                  // [rows, q_width]
  AlignedBuffer<float> k_, v_;                         // [rows, k_width], [rows, v_width]
  AlignedBuffer<float> angles_;                        // [threads, head_dim]
  AlignedBuffer<float> vectors_;                       // [tokens, text_width]
};

}  // namespace octavo
