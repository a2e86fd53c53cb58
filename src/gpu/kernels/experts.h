// Mixtures of experts: the choice of experts, the grouping of rows, and the work before and after groups' products.
#pragma once

#include "base/double_functions.h"
#include "gpu/kernels/activations.h"
#include "gpu/kernels/expert_arguments.h"
#include "gpu/kernels/functions.h"

namespace octavo::gpu {

OCTAVO_GPU_DEVICE bool is_finite(float v) { return f32_abs(v) < simt::as_float(0x7F800000); }

/// Chooses experts in the order in which the processor takes scores that are not all finite: one by one, each behind
/// those that are not below it. By one thread.
OCTAVO_GPU_DEVICE void insert_scores(const float* scores, const ChooseExpertsArguments& a, int32_t* experts) {
  for (int expert = 0, count = 0; expert < a.num_experts; ++expert) {
    const float score = scores[expert];
    if (count == a.num_chosen && !(score > scores[experts[count - 1]])) continue;
    int at = count < a.num_chosen ? count++ : count - 1;
    for (; at > 0 && score > scores[experts[at - 1]]; --at) experts[at] = experts[at - 1];
    experts[at] = expert;
  }
}

/// The rank of a score among all; of equal ones the lower index goes first.
OCTAVO_GPU_DEVICE int rank_of(const float* scores, int expert, int num_experts) {
  const float own = scores[expert];
  int rank = 0;
  for (int i = 0; i < num_experts; ++i) rank += scores[i] > own || (scores[i] == own && i < expert) ? 1 : 0;
  return rank;
}

OCTAVO_GPU_DEVICE void choose_experts(const ChooseExpertsArguments& a) {
  auto* const powers = (double*)simt::shared();  // one for each expert
  auto* const scores = (float*)(powers + a.num_experts);
  auto* const spoiled = (int32_t*)(scores + a.num_experts);
  const int t = simt::thread(), row = simt::block_x();
  int32_t* const experts = a.experts + (int64_t)row * a.num_chosen;
  float* const weights = a.weights + (int64_t)row * a.num_chosen;
  if (t == 0) *spoiled = 0;
  simt::sync_block();
  for (int i = t; i < a.num_experts; i += kRowThreads) {
    const float score = a.scores[(int64_t)row * a.num_experts + i];
    scores[i] = a.bias != nullptr ? simt::add(score, a.bias[i]) : score;
    if (!is_finite(scores[i])) *spoiled = 1;
  }
  simt::sync_block();
  if (*spoiled != 0) {
    if (t != 0) return;
    insert_scores(scores, a, experts);
    for (int rank = 0; rank < a.num_chosen; ++rank) weights[rank] = simt::as_float(0x7FC00000);
    a.not_finite[a.batch_rows != nullptr ? a.batch_rows[row] : a.first_row + row] = 1;
    return;
  }
  for (int i = t; i < a.num_experts; i += kRowThreads) {
    const int rank = rank_of(scores, i, a.num_experts);
    if (rank < a.num_chosen) experts[rank] = i;
  }
  simt::sync_block();
  const double highest = simt::to_double(scores[experts[0]]);
  const int sharing = a.sums_to_one ? a.num_chosen : a.num_experts;
  for (int i = t; i < sharing; i += kRowThreads)
    powers[i] = portable::exp_of({simt::sub(simt::to_double(scores[a.sums_to_one ? experts[i] : i]), highest), 0});
  simt::sync_block();
  double sum = 0;
  for (int i = 0; i < sharing; ++i) sum = simt::add(sum, powers[i]);
  for (int rank = t; rank < a.num_chosen; rank += kRowThreads) {
    const double share = simt::div(powers[a.sums_to_one ? rank : experts[rank]], sum);
    weights[rank] = simt::mul(simt::to_float(share), a.weights_scale);
  }
}

OCTAVO_GPU_DEVICE int parts_of(int count, int size) { return (count + size - 1) / size; }

/// The sum of `own` over all threads before this one. All threads of a block call it; `sums` has room for one number of
/// each.
OCTAVO_GPU_DEVICE int sum_in_front(int own, int* sums) {
  const int t = simt::thread();
  sums[t] = own;
  for (int distance = 1; distance < kRowThreads; distance *= 2) {
    simt::sync_block();
    const int other = t >= distance ? sums[t - distance] : 0;
    simt::sync_block();
    sums[t] += other;
  }
  return sums[t] - own;
}

OCTAVO_GPU_DEVICE void group_choices(const GroupChoicesArguments& a) {
  auto* const counts = (int*)simt::shared();  // the choices of each expert
  int* const sums = counts + a.num_experts;
  int* const tiles = sums + kRowThreads;  // the tiles of all experts before this one; so are the two below
  int *const items = tiles + 1, *const chosen = tiles + 2;
  const int t = simt::thread(), expert = simt::block_x();
  for (int i = t; i < a.num_experts; i += kRowThreads) counts[i] = 0;
  if (t < 3) tiles[t] = 0;
  simt::sync_block();
  for (int i = t; i < a.num_choices; i += kRowThreads) simt::add_to_shared(&counts[a.experts[i]], 1);
  simt::sync_block();
  for (int i = t; i < expert; i += kRowThreads) {
    if (counts[i] == 0) continue;
    simt::add_to_shared(tiles, parts_of(counts[i], kRowsOfTile));
    simt::add_to_shared(items, parts_of(counts[i], a.item_rows));
    simt::add_to_shared(chosen, 1);
  }
  simt::sync_block();
  const int own = counts[expert], own_items = parts_of(own, a.item_rows), first = *tiles * kRowsOfTile;
  if (expert == a.num_experts - 1) {
    for (int i = *items + own_items + t; i < a.max_items; i += kRowThreads) a.items[i] = {0, 0, 0};
    if (t == 0) *a.bytes_read += a.bytes_of_one * (uint64_t)(*chosen + (own > 0 ? 1 : 0));
  }
  if (own == 0) return;
  for (int i = t; i < own_items; i += kRowThreads) {
    const int begin = i * a.item_rows, left = own - begin;
    a.items[*items + i] = {expert, first + begin, left < a.item_rows ? left : a.item_rows};
  }
  const int of_thread = parts_of(a.num_choices, kRowThreads), begin = t * of_thread;
  const int end = begin + of_thread < a.num_choices ? begin + of_thread : a.num_choices;
  int mine = 0;
  for (int i = begin; i < end; ++i) mine += a.experts[i] == expert ? 1 : 0;
  int slot = first + sum_in_front(mine, sums);
  for (int i = begin; i < end; ++i)
    if (a.experts[i] == expert) a.slots[i] = slot++;
}

/// Writes four columns of a slot.
OCTAVO_GPU_DEVICE void store_four(const float (&v)[4], float* floats, ActPair* int8, int cols, int slot, int column) {
  const bool on = column < cols;
  if (floats != nullptr && on) {
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4; ++i) floats[(int64_t)slot * cols + column + i] = v[i];
  }
  if (int8 != nullptr) quantize_four(v, int8, cols, slot, column / kActBlock, on);
}

OCTAVO_GPU_DEVICE void gather_choices(const GatherChoicesArguments& a) {
  const int column = simt::block_x() * kChoiceCols + 4 * simt::thread(), choice = simt::block_y();
  float v[4] = {0, 0, 0, 0};
  if (column < a.cols) {
    const simt::Floats4 loaded = simt::load16f(a.x + (int64_t)(choice / a.num_chosen) * a.cols + column);
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = loaded.v[i];
  }
  store_four(v, a.floats, a.int8, a.cols, a.slots[choice], column);
}

OCTAVO_GPU_DEVICE void activate_choices(const ActivateChoicesArguments& a) {
  const int column = simt::block_x() * kChoiceCols + 4 * simt::thread(), choice = simt::block_y();
  const int slot = a.slots[choice], expert = a.experts[choice];
  float v[4] = {0, 0, 0, 0};
  if (column < a.width) {
    const int64_t at = (int64_t)slot * a.width + column, of_bias = (int64_t)expert * a.width + column;
    OCTAVO_GPU_UNROLL
    for (int i = 0; i < 4; ++i) {
      float gate = a.gate[at + i], up = a.up != nullptr ? a.up[at + i] : gate;
      if (a.gate_bias != nullptr) gate = simt::add(gate, a.gate_bias[of_bias + i]);
      if (a.up_bias != nullptr) up = simt::add(up, a.up_bias[of_bias + i]);
      v[i] = activate(a.activation, gate, up, a.up != nullptr);
    }
  }
  store_four(v, a.floats, a.int8, a.width, slot, column);
}

OCTAVO_GPU_DEVICE void combine_choices(const CombineChoicesArguments& a) {
  const int column = simt::block_x() * kRowThreads + simt::thread(), row = simt::block_y();
  if (column >= a.width) return;
  float sum = 0;
  for (int rank = 0; rank < a.num_chosen; ++rank) {
    const int64_t choice = (int64_t)row * a.num_chosen + rank;
    const int expert = a.experts[choice];
    float v = a.results[(int64_t)a.slots[choice] * a.width + column];
    if (a.bias != nullptr) v = simt::add(v, a.bias[(int64_t)expert * a.width + column]);
    const float weight = a.scales != nullptr ? simt::mul(a.weights[choice], a.scales[expert]) : a.weights[choice];
    v = simt::mul(v, weight);
    sum = rank == 0 ? v : simt::add(sum, v);
  }
  a.out[(int64_t)row * a.width + column] = sum;
}

OCTAVO_GPU_DEVICE void add_shared(const AddSharedArguments& a) {
  const int column = simt::block_x() * kRowThreads + simt::thread(), row = simt::block_y();
  if (column >= a.width) return;
  const int64_t at = (int64_t)row * a.width + column;
  const float v = a.gate != nullptr ? simt::mul(a.result[at], sigmoid(a.gate[row])) : a.result[at];
  a.out[at] = simt::add(a.out[at], v);
}

}  // namespace octavo::gpu

OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_choose_experts(octavo::gpu::ChooseExpertsArguments a) {
  octavo::gpu::choose_experts(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_group_choices(octavo::gpu::GroupChoicesArguments a) {
  octavo::gpu::group_choices(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_gather_choices(octavo::gpu::GatherChoicesArguments a) {
  octavo::gpu::gather_choices(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_activate_choices(octavo::gpu::ActivateChoicesArguments a) {
  octavo::gpu::activate_choices(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_combine_choices(octavo::gpu::CombineChoicesArguments a) {
  octavo::gpu::combine_choices(a);
}
OCTAVO_GPU_KERNEL(octavo::gpu::kRowThreads, 1) octavo_add_shared(octavo::gpu::AddSharedArguments a) {
  octavo::gpu::add_shared(a);
}
