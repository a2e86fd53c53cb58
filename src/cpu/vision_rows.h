// The rows kept of a picture while it is encoded: those of its patches, and the keys and values of the current layer.
//
// An encoding owns it. Threads of a step use different rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "attention/attention_plan.h"
#include "base/aligned_buffer.h"
#include "base/math.h"
#include "base/to_size.h"
#include "kernels/kernels.h"
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
/// row by row, or those that become one row behind each other. Tokens are ordered row by row, within windows where
/// there are some.
class VisionRows {
 public:
  static constexpr int kBlock = kTileTokens;  // the patches in a block of keys and values

  /// References must outlive it. Throws std::bad_alloc where there is no memory.
  VisionRows(const VisionConfig& config, Math math, const Picture& picture);

  /// The memory for a picture of `rows` x `columns` patches.
  static std::uint64_t bytes(const VisionConfig& config, int rows, int columns);

  const Picture& picture() const { return picture_; }
  int rows() const { return rows_; }  // of patches
  int columns() const { return columns_; }
  std::int64_t num_patches() const { return std::int64_t{rows_} * columns_; }
  std::int64_t num_tokens() const { return num_patches() / config_.token_patches(); }
  PatchPlace place_of(std::int64_t patch) const;
  /// The number of a token in the picture, row by row.
  std::int64_t place_of_token(std::int64_t token) const { return order_.empty() ? token : order_[to_size(token)]; }
  /// The rows that are left: patches, until they are joined.
  std::int64_t num_rows() const { return num_rows_; }
  void set_num_rows(std::int64_t count) { num_rows_ = count; }
  /// The end of the window in which a patch lies, and so the begin of the next; where there are windows.
  std::int64_t window_end(std::int64_t patch) const { return *std::ranges::upper_bound(window_ends_, patch); }
  /// The first patch of the window in which a patch lies.
  std::int64_t window_begin(std::int64_t patch) const {
    const auto at = std::ranges::upper_bound(window_ends_, patch);
    return at == window_ends_.begin() ? 0 : *std::prev(at);
  }
  float* x(std::int64_t patch) { return x_.data() + patch * config_.width; }

  /// The keys and values of the current layer.
  const KvLayer& kv() const { return kv_; }
  std::span<const std::int32_t> blocks() const { return blocks_; }

  /// The cosines and sines of rows, and of columns: [head_dim / 4] for each place.
  const RopeTable& row_angles() const { return row_angles_; }
  const RopeTable& column_angles() const { return column_angles_; }

  /// The two places in the grid of learned positions between which a row or column lies, and how far it is from the
  /// first to the second.
  struct Tap {
    int first = 0, second = 0;
    float part = 0;
  };
  const Tap& row_tap(int row) const { return row_taps_[to_size(row)]; }
  const Tap& column_tap(int column) const { return column_taps_[to_size(column)]; }
  /// The shares of a line of the square of learned positions in a row or column, where those are spread.
  std::span<const float> row_shares(int row) const { return shares(row_shares_, row); }
  std::span<const float> column_shares(int column) const { return shares(column_shares_, column); }

 private:
  /// Orders the tokens by windows.
  void order_by_windows();
  std::span<const float> shares(const std::vector<float>& all, int place) const {
    return std::span(all).subspan(to_size(place) * to_size(config_.grid_side), to_size(config_.grid_side));
  }

  const VisionConfig& config_;
  const Picture& picture_;
  int rows_, columns_;  // in patches
  std::int64_t num_rows_;
  AlignedBuffer<float> x_;  // [patches, width]
  AlignedBuffer<std::uint8_t> kv_memory_;
  KvLayer kv_ = {};
  std::vector<std::int32_t> blocks_;
  RopeTable row_angles_, column_angles_;
  std::vector<Tap> row_taps_, column_taps_;
  std::vector<float> row_shares_, column_shares_;  // [rows or columns, grid_side]
  std::vector<std::int64_t> order_;                // [tokens] their places, where there are windows
  std::vector<std::int64_t> window_ends_;          // in patches
};

}  // namespace octavo
