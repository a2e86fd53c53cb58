#include "cpu/vision_encoding.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

std::uint64_t products_of(std::int64_t rows, std::int64_t cols) { return static_cast<std::uint64_t>(rows * cols); }

}  // namespace

VisionEncoding::VisionEncoding(const VisionConfig& config, VisionParts& parts, const Picture& picture,
                               std::span<float> out)
    : config_(config), parts_(parts), out_(out), rows_(config, parts.math(), picture) {
  const std::int64_t width = config.width;
  const std::uint64_t merger = VisionMerger::token_work(config);
  std::int64_t rows = rows_.num_patches();
  add_task(Part::kPatches, 0, products_of(width, config.patch_width()), rows);
  const std::int64_t window = std::int64_t{config.window_side} * config.window_side;
  int vector = 0;
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const LayerSpec& spec = config.layers[to_size(layer)];
    add_attention(layer, rows, config.attends_in_windows(layer) ? std::min(window, rows) : rows);
    const auto& dense = std::get<DenseFfnSpec>(spec.feed_forward);
    add_task(Part::kFeedForward, layer, (dense.is_gated ? 3 : 2) * products_of(dense.width, width), rows);
    if (std::ranges::binary_search(config.deepstack_layers, layer))
      add_task(Part::kMerger, ++vector, merger, rows_.num_tokens());
    if (layer != config.row_join.behind) continue;
    add_attention(VisionParts::kRowJoin, rows, RowJoinSpec::kRows);
    rows /= RowJoinSpec::kRows;
    add_task(Part::kRowJoin, 0, VisionRowJoin::row_work(config), rows);
  }
  add_task(Part::kMerger, 0, merger, rows_.num_tokens());
}

void VisionEncoding::add_task(Part part, int index, std::uint64_t row_work, std::int64_t num_rows) {
  tasks_.push_back({.part = part, .index = index, .row_work = row_work, .num_rows = num_rows});
  total_work_ += row_work * to_size(num_rows);
}

void VisionEncoding::add_attention(int layer, std::int64_t num_rows, std::int64_t seen) {
  const AttentionSpec& spec = config_.attention();
  add_task(Part::kKeys, layer, products_of(spec.k_width() + spec.v_width(), config_.width), num_rows);
  add_task(Part::kAttention, layer, products_of(spec.q_width() + spec.result_width(), config_.width + seen), num_rows);
}

std::uint64_t VisionEncoding::compute(std::uint64_t most_work) {
  const Task& task = tasks_[task_];
  constexpr std::uint64_t kLeast = VisionParts::kLeastRows;
  const std::uint64_t most = task.part == Part::kMerger    ? to_size(VisionMerger::most_tokens(config_))
                             : task.part == Part::kRowJoin ? to_size(VisionRowJoin::kMostRows)
                                                           : VisionParts::kMostRows;
  const std::uint64_t wanted = std::clamp(most_work / task.row_work, kLeast, most) / kLeast * kLeast;
  const auto count = std::min(static_cast<std::int64_t>(wanted), task.num_rows - row_);
  run(task, {.first = row_, .count = static_cast<int>(count)});
  const std::uint64_t work = task.row_work * to_size(count);
  done_work_ += work;
  row_ += count;
  if (row_ == task.num_rows) {
    if (task.part == Part::kRowJoin) rows_.set_num_rows(task.num_rows);
    ++task_;
    row_ = 0;
  }
  return work;
}

void VisionEncoding::run(const Task& task, VisionRowRange range) {
  switch (task.part) {
    case Part::kPatches: return parts_.embed(rows_, range);
    case Part::kKeys: return parts_.write_keys(rows_, task.index, range);
    case Part::kAttention: return parts_.attend(rows_, task.index, range);
    case Part::kFeedForward: return parts_.feed_forward(rows_, task.index, range);
    case Part::kRowJoin: return parts_.join_rows(rows_, range);
    case Part::kMerger: return parts_.merge(rows_, task.index, range, out_);
  }
}

}  // namespace octavo
