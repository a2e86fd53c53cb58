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
  add_task(Part::kPatches, 0, products_of(width, config.patch_width()));
  int vector = 0;
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const LayerSpec& spec = config.layers[to_size(layer)];
    const AttentionSpec& attention = *spec.attention();
    add_task(Part::kKeys, layer, products_of(attention.k_width() + attention.v_width(), width));
    add_task(Part::kAttention, layer,
             products_of(attention.q_width() + attention.result_width(), width + rows_.num_patches()));
    const auto& dense = std::get<DenseFfnSpec>(spec.feed_forward);
    add_task(Part::kFeedForward, layer, (dense.is_gated ? 3 : 2) * products_of(dense.width, width));
    if (std::ranges::binary_search(config.deepstack_layers, layer)) add_task(Part::kMerger, ++vector, merger);
  }
  add_task(Part::kMerger, 0, merger);
}

void VisionEncoding::add_task(Part part, int index, std::uint64_t row_work) {
  tasks_.push_back({.part = part, .index = index, .row_work = row_work});
  total_work_ += row_work * to_size(num_rows(tasks_.back()));
}

std::uint64_t VisionEncoding::compute(std::uint64_t most_work) {
  const Task& task = tasks_[task_];
  constexpr std::uint64_t kLeast = VisionParts::kLeastRows;
  const std::uint64_t most =
      task.part == Part::kMerger ? to_size(VisionMerger::most_tokens(config_)) : VisionParts::kMostRows;
  const std::uint64_t wanted = std::clamp(most_work / task.row_work, kLeast, most) / kLeast * kLeast;
  const auto count = std::min(static_cast<std::int64_t>(wanted), num_rows(task) - row_);
  run(task, {.first = row_, .count = static_cast<int>(count)});
  const std::uint64_t work = task.row_work * to_size(count);
  done_work_ += work;
  row_ += count;
  if (row_ == num_rows(task)) {
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
    case Part::kMerger: return parts_.merge(rows_, task.index, range, out_);
  }
}

}  // namespace octavo
