#include "cpu/joint_pass.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr int kLeastRows = 8;  // of a piece; pieces are multiples of it, so that row tiles are whole

std::uint64_t products_of(std::int64_t rows, std::int64_t cols) { return static_cast<std::uint64_t>(rows * cols); }

std::uint64_t work_of(const DenseFfnSpec& spec, int width) {
  return (spec.is_gated ? 3 : 2) * products_of(spec.width, width);
}
std::uint64_t work_of(const ExpertsFfnSpec& spec, int width) {
  const std::int64_t widths = std::int64_t{spec.num_chosen} * spec.width + spec.shared_width;
  return (spec.is_gated ? 3 : 2) * products_of(widths, width) + products_of(spec.num_experts, width);
}

/// Gives `rows` some of the rows of `all`, without the tables of blocks, which both share.
void take_rows(const Batch& all, int first, int count, Batch& rows) {
  const auto begin = static_cast<std::ptrdiff_t>(first), end = begin + count;
  rows.tokens.assign(all.tokens.begin() + begin, all.tokens.begin() + end);
  rows.positions.assign(all.positions.begin() + begin, all.positions.begin() + end);
  rows.rope_positions.assign(all.rope_positions.begin() + begin, all.rope_positions.begin() + end);
  rows.seq_begin = {0, count};
}

}  // namespace

JointPass::JointPass(const ModelConfig& config, CpuStage& stage, ResidualStream& stream, int most_rows)
    : config_(config),
      stage_(stage),
      stream_(stream),
      most_rows_(most_rows < kLeastRows ? most_rows : most_rows / kLeastRows * kLeastRows),
      last_with_state_(config.last_layer_with_state()),
      x_(to_size(config.joint_rows) * to_size(config.width)),
      rows_(most_rows),
      layer_(config.num_layers()) {
  OCTAVO_CHECK(!config.has_draft_head && config.per_layer_width == 0, "rows that see each other in another model");
  for (const LayerSpec& layer : config.layers)
    OCTAVO_CHECK(layer.state_bytes() == 0 && layer.attention() != nullptr, "rows that see each other in a recurrence");
  batch_.reserve(to_size(config.joint_rows), 1);
  piece_.reserve(to_size(most_rows), 1);
}

void JointPass::begin(const Batch& batch) {
  layer_ = config_.num_layers();
  OCTAVO_CHECK(batch.num_seqs() == 1 && batch.num_rows() > 0 && batch.num_rows() <= config_.joint_rows,
               "{} rows of {} sequences, room for {}", batch.num_rows(), batch.num_seqs(), config_.joint_rows);
  OCTAVO_CHECK(batch.sight_end > batch.positions.back(), "{} rows see up to {}", batch.num_rows(), batch.sight_end);
  batch_ = batch;
  piece_.clear();
  piece_.groups = batch.groups;
  piece_.kv_len = batch.kv_len;
  piece_.sight_end = batch.sight_end;
  for (int row = 0; row < batch.num_rows(); ++row) {
    const float* given = batch.given_vector(row);
    OCTAVO_CHECK(given != nullptr, "row {} is a token", row);
    std::copy_n(given, config_.width, x_.data() + std::int64_t{row} * config_.width);
  }
  batch_.given.clear();  // they need not stay any longer
  expert_bytes_ = 0;
  not_finite_ = is_spoiled_ = false;
  layer_ = 0;
  part_ = JointPart::kKeys;
  row_ = 0;
  find_part();
}

JointPass::Rows JointPass::rows_of_part() const {
  if (part_ == JointPart::kKeys)
    return {.begin = 0, .end = config_.layer(layer_).writes_state() ? batch_.num_rows() : 0};
  if (layer_ < last_with_state_) return {.begin = 0, .end = batch_.num_rows()};
  if (batch_.logit_rows.empty()) return {};
  return {.begin = batch_.logit_rows.front(), .end = batch_.logit_rows.back() + 1};
}

void JointPass::find_part() {
  while (layer_ < config_.num_layers()) {
    const Rows rows = rows_of_part();
    row_ = std::max(row_, rows.begin);
    if (row_ < rows.end) return;
    row_ = 0;
    layer_ += part_ == JointPart::kRest ? 1 : 0;
    part_ = part_ == JointPart::kKeys ? JointPart::kRest : JointPart::kKeys;
  }
}

/// The multiply-adds of a row in the present part; in a window as many as if nothing were cut off.
std::uint64_t JointPass::row_work() const {
  const LayerSpec& layer = config_.layer(layer_);
  const AttentionSpec& attention = *layer.attention();
  const std::int64_t width = config_.width;
  if (part_ == JointPart::kKeys)
    return products_of(attention.k_width() + (attention.has_v() ? attention.v_width() : 0), width);
  const std::int64_t seen = attention.window == 0 ? batch_.sight_end : std::min(batch_.sight_end, attention.window);
  std::uint64_t work = products_of(attention.q_width() + attention.result_width(), width + seen);
  visit_part(layer.feed_forward, [&](const auto& spec) { work += work_of(spec, config_.width); });
  return work;
}

JointPiece JointPass::advance(const JointWork& most_work) {
  if (layer_ == config_.num_layers()) return {};
  const JointPart part = part_;
  const std::uint64_t a_row = row_work();
  const auto least = to_size(std::min(kLeastRows, most_rows_)), most = to_size(most_rows_);
  const std::uint64_t wanted =
      std::clamp<std::uint64_t>(most_work[std::to_underlying(part)] / a_row, least, most) / least * least;
  const int count = std::min(static_cast<int>(wanted), rows_of_part().end - row_);
  compute(row_, count);
  row_ += count;
  find_part();
  return {.work = a_row * to_size(count), .part = part};
}

void JointPass::compute(int first, int count) {
  take_rows(batch_, first, count, piece_);
  const std::int64_t floats = std::int64_t{count} * config_.width;
  float* const x = x_.data() + std::int64_t{first} * config_.width;
  std::copy_n(x, floats, stream_.x(0));
  rows_.begin(piece_);
  if (part_ == JointPart::kKeys) {
    stage_.write_joint_keys(rows_, layer_);
  } else {
    stage_.finish_joint_layer(rows_, layer_);
    std::copy_n(stream_.x(0), floats, x);
  }
  const StageFindings found = stage_.findings();
  expert_bytes_ += found.expert_bytes;
  not_finite_ = not_finite_ || !found.not_finite.empty();
  is_spoiled_ = is_spoiled_ || !found.spoiled.empty();
}

}  // namespace octavo
