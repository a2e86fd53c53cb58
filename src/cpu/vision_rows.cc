#include "cpu/vision_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "octavo/kv/types.h"

namespace octavo {
namespace {

constexpr int kBlock = VisionRows::kBlock;

std::int64_t num_blocks(std::int64_t patches) { return (patches + kBlock - 1) / kBlock; }

/// The keys and values of one layer, in consecutive blocks.
KvLayer kv_layer(const AttentionSpec& spec, std::uint8_t* data) {
  const std::size_t k_bytes = sizeof(float) * kBlock * to_size(spec.head_dim);
  const std::size_t head_bytes = k_bytes + sizeof(float) * kBlock * to_size(spec.v_dim());
  return {.data = data,
          .block_bytes = head_bytes * to_size(spec.num_kv_heads),
          .head_bytes = head_bytes,
          .v_offset = static_cast<std::ptrdiff_t>(k_bytes),
          .token_bytes = head_bytes / kBlock,
          .k_order = KOrder::kDimMajor,
          .block_size = kBlock,
          .num_kv_heads = spec.num_kv_heads,
          .k_dim = spec.head_dim,
          .v_dim = spec.v_dim(),
          .token_stride = spec.v_dim()};
}

/// Half of a head's frequencies: those that turn with one of the two coordinates.
RopeSpec rope_of_rows(const VisionConfig& config) {
  RopeSpec rope = config.attention().rope;
  rope.num_rotated /= 2;
  return rope;
}

/// The same for columns, whose frequencies may lie between those of the rows.
RopeSpec rope_of_columns(const VisionConfig& config) {
  RopeSpec rope = rope_of_rows(config);
  if (config.turns == PatchTurns::kNeighbours)
    rope.scaling.divisor = std::pow(rope.base, 2.0 / config.attention().head_dim);
  return rope;
}

/// Finds the learned places of `count` rows or columns. Over a square they are spread: the first and last ones are
/// those of the square.
std::vector<VisionRows::Tap> make_taps(int count, const VisionConfig& config) {
  std::vector<VisionRows::Tap> taps;
  for (int i = 0; i < count && config.places == LearnedPlaces::kTables; ++i) taps.push_back({.first = i, .second = i});
  const int grid = config.grid_side;
  for (int i = 0; i < count && config.places == LearnedPlaces::kBuckets; ++i) {
    const int line = static_cast<int>(std::int64_t{i} * grid / count);
    taps.push_back({.first = line, .second = line});
  }
  for (int i = 0; i < count && config.places == LearnedPlaces::kSquare; ++i) {
    const double at = count == 1 ? 0 : static_cast<double>(i) * (grid - 1) / (count - 1);
    const int first = std::min(static_cast<int>(at), grid - 1);
    taps.push_back({.first = first, .second = std::min(first + 1, grid - 1), .part = static_cast<float>(at - first)});
  }
  return taps;
}

/// Spreads `count` places over the lines of a square, edge on edge: each has a share of all lines that it covers, and
/// of two where it is narrower. Sampled ones have shares of two; what they have of lines outside is lost.
std::vector<float> make_shares(int count, const VisionConfig& config) {
  std::vector<float> shares;
  const bool samples = config.places == LearnedPlaces::kSampled;
  if (config.places != LearnedPlaces::kSpread && !samples) return shares;
  const int grid = config.grid_side;
  const double scale = static_cast<double>(grid) / count, support = samples ? 1.0 : std::max(scale, 1.0);
  shares.resize(to_size(count) * to_size(grid));
  std::vector<double> own(to_size(grid));
  for (int i = 0; i < count; ++i) {
    const double center = (i + 0.5) * scale - 0.5;
    double sum = 0;
    for (int line = 0; line < grid; ++line)
      sum += own[to_size(line)] = std::max(1 - std::abs(line - center) / support, 0.0);
    for (int line = 0; line < grid; ++line)
      shares[to_size(i) * to_size(grid) + to_size(line)] =
          static_cast<float>(own[to_size(line)] / (samples ? 1.0 : sum));
  }
  return shares;
}

}  // namespace

VisionRows::VisionRows(const VisionConfig& config, Math math, const Picture& picture)
    : config_(config),
      picture_(picture),
      rows_(picture.size.height / config.patch_side),
      columns_(picture.size.width / config.patch_side),
      num_rows_(num_patches()),
      x_(AlignedBuffer<float>::with_huge_pages(to_size(num_patches()) * to_size(config.width))),
      row_angles_(rope_of_rows(config), nullptr, math, rows_),
      column_angles_(rope_of_columns(config), nullptr, math, columns_),
      row_taps_(make_taps(rows_, config)),
      column_taps_(make_taps(columns_, config)),
      row_shares_(make_shares(rows_, config)),
      column_shares_(make_shares(columns_, config)) {
  const AttentionSpec& spec = config.attention();
  const std::size_t block_bytes = kv_layer(spec, nullptr).block_bytes, count = to_size(num_blocks(num_patches()));
  kv_memory_ = AlignedBuffer<std::uint8_t>::with_huge_pages(count * block_bytes);
  kv_ = kv_layer(spec, kv_memory_.data());
  std::fill_n(kv_memory_.data() + (count - 1) * block_bytes, block_bytes, std::uint8_t{0});  // vectors read to its end
  blocks_.resize(count);
  std::iota(blocks_.begin(), blocks_.end(), 0);
  for (int i = 0; i < rows_; ++i) row_angles_.fill(i, config.first_turn + i);
  for (int i = 0; i < columns_; ++i) column_angles_.fill(i, config.first_turn + i);
  if (config.window_side != 0) order_by_windows();
}

void VisionRows::order_by_windows() {
  const int side = config_.window_side / config_.merge_side;  // in tokens
  const int rows = rows_ / config_.merge_side, columns = columns_ / config_.merge_side;
  order_.reserve(to_size(num_tokens()));
  for (int top = 0; top < rows; top += side)
    for (int left = 0; left < columns; left += side) {
      for (int row = top; row < std::min(top + side, rows); ++row)
        for (int column = left; column < std::min(left + side, columns); ++column)
          order_.push_back(std::int64_t{row} * columns + column);
      window_ends_.push_back(static_cast<std::int64_t>(order_.size()) * config_.token_patches());
    }
}

std::uint64_t VisionRows::bytes(const VisionConfig& config, int rows, int columns) {
  const AttentionSpec& spec = config.attention();
  const std::int64_t patches = std::int64_t{rows} * columns;
  const std::size_t a_place = sizeof(float) * to_size(spec.head_dim / 2 + config.grid_side) + sizeof(Tap);
  const std::int64_t ordered = config.window_side == 0 ? 0 : 2 * patches / config.token_patches();
  const std::uint64_t tables = to_size(rows + columns) * a_place + to_size(num_blocks(patches)) * sizeof(int) +
                               to_size(ordered) * sizeof(std::int64_t);
  return config.rows_bytes(num_blocks(patches) * kBlock) + tables;
}

PatchPlace VisionRows::place_of(std::int64_t patch) const {
  const int side = config_.merge_side;
  const std::int64_t token = place_of_token(patch / config_.token_patches()), tokens_a_row = columns_ / side;
  const int within = static_cast<int>(patch % config_.token_patches());
  int row = within / side, column = within % side;
  if (config_.joins_rows()) {
    constexpr int kSide = RowJoinSpec::kSide;
    const int square = within / RowJoinSpec::kRows, place = within % RowJoinSpec::kRows;
    row = square / (side / kSide) * kSide + place / kSide;
    column = square % (side / kSide) * kSide + place % kSide;
  }
  return {.row = static_cast<int>(token / tokens_a_row) * side + row,
          .column = static_cast<int>(token % tokens_a_row) * side + column};
}

}  // namespace octavo
