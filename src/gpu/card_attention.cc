#include "gpu/card_attention.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/to_size.h"
#include "model/largest.h"

namespace octavo::gpu {
namespace {

/// The memory for partial results of tiles. Where they would take more, each block of threads goes over all tiles.
constexpr std::uint64_t kPartialBytes = std::uint64_t{32} << 20;

/// The widths of the widest rows: of Q, of K, and of Q with its gates.
struct Widths {
  std::uint64_t q, kv, gated_q;

  explicit Widths(const ModelConfig& config)
      : q(to_size(largest<AttentionSpec>(config.own_layers(), &AttentionSpec::q_width))),
        kv(to_size(largest<AttentionSpec>(config.own_layers(), &AttentionSpec::k_width))),
        gated_q(to_size(largest<AttentionSpec>(
            config.own_layers(), [](const AttentionSpec& spec) { return spec.gated_output ? spec.q_rows() : 0; }))) {}
};

bool reads_int8(const AttentionTensors<CardForm>& w, bool keys) {
  const auto reads = [](const CardMatrix& m) { return is_present(m) && m.reads_int8(); };
  return reads(w.q) || (keys && (reads(w.k) || reads(w.v)));
}

/// The launch of the attention kernel for a type and a number of queries, without its grid.
Launch attention_launch(KvType type, int queries, int head_dim) {
  struct Kernel {
    const char *f16, *i16;
    int shared_bytes;
  };
  const std::array<Kernel, 4> kernels = {{
      {"octavo_attend_1_f16", "octavo_attend_1_i16", attention_shared<1>(head_dim)},
      {"octavo_attend_2_f16", "octavo_attend_2_i16", attention_shared<2>(head_dim)},
      {"octavo_attend_4_f16", "octavo_attend_4_i16", attention_shared<4>(head_dim)},
      {"octavo_attend_8_f16", "octavo_attend_8_i16", attention_shared<8>(head_dim)},
  }};
  std::size_t i = 0;
  while ((1 << i) < queries) ++i;
  return {.kernel = type == KvType::kF16 ? kernels[i].f16 : kernels[i].i16,
          .threads = kAttentionThreads,
          .shared_bytes = kernels[i].shared_bytes};
}

}  // namespace

std::uint64_t CardAttention::kv_bytes(const StateRoom& room, int layer) {
  if (!room.layout.places[to_size(layer)] || room.layout.lender(layer) != layer) return 0;
  const int group = room.layout.place(layer).group;
  return to_size(room.num_blocks[to_size(group)]) * room.layout.layer_block_bytes(group);
}

std::uint64_t CardAttention::scratch_bytes(const ModelConfig& config, int max_rows) {
  const Widths widths(config);
  return to_size(max_rows) * (2 * widths.q + 2 * widths.kv + widths.gated_q) * sizeof(float) + kPartialBytes;
}

Result<CardAttention> CardAttention::create(CardContext& context, const ModelConfig& config, const StateRoom& room,
                                            LayerRange layers, int max_rows) {
  CardAttention made(context, config, room.layout);
  for (int i = 0; i < layers.end; ++i) {
    if (!layers.contains(i) || !room.layout.places[to_size(i)]) {
      made.kv_.emplace_back();
      continue;
    }
    if (const int lender = room.layout.lender(i); lender != i) {
      made.kv_.push_back(made.kv_[to_size(lender)]);
      continue;
    }
    OCTAVO_TRY(CardMemory blocks, context.device.allocate(kv_bytes(room, i)));
    const int group = room.layout.place(i).group;
    made.kv_.push_back({.data = blocks.as<std::uint8_t>(),
                        .block_bytes = static_cast<std::int64_t>(room.layout.layer_block_bytes(group)),
                        .head_bytes = static_cast<std::int64_t>(room.layout.head_bytes(group)),
                        .v_offset = static_cast<std::int64_t>(room.layout.v_offset(group)),
                        .block_size = room.layout.block_size,
                        .num_kv_heads = room.layout.group(group).num_kv_heads,
                        .head_dim = room.layout.group(group).k_dim});
    made.blocks_.push_back(std::move(blocks));
  }
  const Widths widths(config);
  OCTAVO_TRY(made.q_, context.allocate_rows(max_rows, widths.q));
  OCTAVO_TRY(made.attended_, context.allocate_rows(max_rows, widths.q));
  OCTAVO_TRY(made.gated_q_, context.allocate_rows(max_rows, widths.gated_q));
  OCTAVO_TRY(made.k_, context.allocate_rows(max_rows, widths.kv));
  OCTAVO_TRY(made.v_, context.allocate_rows(max_rows, widths.kv));
  OCTAVO_TRY(made.partials_, context.device.allocate(kPartialBytes));
  return made;
}

void CardAttention::copy_blocks(std::span<const BlockCopy> copies) {
  for (const auto& [group, from, to] : copies) {
    if (group == layout_->num_groups()) continue;  // this copies a snapshot, not a block
    for (int i = 0; i < static_cast<int>(kv_.size()); ++i) {
      const CardKvLayer& kv = kv_[to_size(i)];
      if (kv.data == nullptr || layout_->lender(i) != i || layout_->place(i).group != group) continue;
      const auto place = [&](int block) {
        return reinterpret_cast<CuPointer>(kv.data) + to_size(block) * to_size(kv.block_bytes);
      };
      context_->device.copy_on_card(place(to), place(from), to_size(kv.block_bytes));
    }
  }
}

void CardAttention::write_state(int layer, const CardLayerWeights& weights, const CardStep& step, const float* h) {
  const auto& w = std::get<AttentionTensors<CardForm>>(weights.mixer);
  if (reads_int8(w, true)) context_->quantize(h, w.k.cols, step.rows().count());
  write_kv(layer, w, step, h);
}

void CardAttention::run(int layer, const CardLayerWeights& weights, const CardStep& step, bool state_written,
                        float* h) {
  const auto& w = std::get<AttentionTensors<CardForm>>(weights.mixer);
  const AttentionSpec& spec = spec_of(layer);
  const bool writes = !spec.borrows_from && !state_written;
  const int rows = step.rows().count();
  if (reads_int8(w, writes)) context_->quantize(h, w.q.cols, rows);
  context_->multiply(w.q, h, rows, products_of(spec));
  finish_queries(layer, w, step);
  if (writes) write_kv(layer, w, step, h);
  attend(layer, w, step);
  if (spec.gated_output) gate_attended(layer, w, step);
  if (w.o.reads_int8()) context_->quantize(attended_.as<float>(), w.o.cols, rows);
  context_->multiply(w.o, attended_.as<float>(), rows, h);
}

HeadArguments CardAttention::head_arguments(int layer, const float* norm, const CardStep& step) const {
  const AttentionSpec& spec = spec_of(layer);
  const CardRows rows = step.rows_of(layer);
  return {.norm = norm,
          .rope = {.cosines = rows.cosines,
                   .sines = rows.sines,
                   .num_rotated = spec.rope.num_rotated,
                   .halves = spec.rope.layout == RopeLayout::kHalves},
          .epsilon = context_->epsilon,
          .head_dim = spec.head_dim,
          .lanes = context_->order.lanes};
}

void CardAttention::finish_queries(int layer, const AttentionTensors<CardForm>& w, const CardStep& step) {
  const AttentionSpec& spec = spec_of(layer);
  context_->device.launch({.kernel = "octavo_finish_queries",
                           .grid_x = (spec.num_heads + kHeadWarps - 1) / kHeadWarps,
                           .grid_y = step.rows().count(),
                           .threads = kHeadThreads,
                           .shared_bytes = heads_shared(spec.head_dim)},
                          FinishQueriesArguments{.products = products_of(spec),
                                                 .q = q_.as<float>(),
                                                 .bias = w.q_bias,
                                                 .scales = step.rows_of(layer).scales,
                                                 .batch_row = step.batch_rows(),
                                                 .head = head_arguments(layer, w.q_norm, step),
                                                 .num_heads = spec.num_heads,
                                                 .product_dim = spec.q_rows() / spec.num_heads});
}

void CardAttention::gate_attended(int layer, const AttentionTensors<CardForm>& w, const CardStep& step) {
  const AttentionSpec& spec = spec_of(layer);
  context_->device.launch({.kernel = "octavo_gate_attended",
                           .grid_x = column_blocks(spec.q_width()),
                           .grid_y = step.rows().count(),
                           .threads = kRowThreads},
                          GateAttendedArguments{.x = attended_.as<float>(),
                                                .products = products_of(spec),
                                                .bias = w.q_bias,
                                                .num_heads = spec.num_heads,
                                                .head_dim = spec.head_dim});
}

void CardAttention::write_kv(int layer, const AttentionTensors<CardForm>& w, const CardStep& step, const float* h) {
  const AttentionSpec& spec = spec_of(layer);
  const CardRows arrays = step.rows_of(layer);
  const int rows = step.rows().count();
  context_->multiply(w.k, h, rows, k_.as<float>());
  if (!spec.v_is_k) context_->multiply(w.v, h, rows, v_.as<float>());
  context_->device.launch({.kernel = layout_->type == KvType::kF16 ? "octavo_write_kv_f16" : "octavo_write_kv_i16",
                           .grid_x = (spec.num_kv_heads + kHeadWarps - 1) / kHeadWarps,
                           .grid_y = rows,
                           .threads = kHeadThreads,
                           .shared_bytes = heads_shared(spec.head_dim)},
                          WriteKvArguments{.k = k_.as<float>(),
                                           .v = spec.v_is_k ? nullptr : v_.as<float>(),
                                           .k_bias = w.k_bias,
                                           .v_bias = w.v_bias,
                                           .positions = arrays.positions,
                                           .first_block = arrays.first_block,
                                           .blocks = arrays.blocks,
                                           .kv = kv_[to_size(layer)],
                                           .head = head_arguments(layer, w.k_norm, step),
                                           .v_norm = spec.v_norm});
}

bool CardAttention::is_split(int layer, const CardStep& step, int num_tiles) const {
  const AttentionSpec& spec = spec_of(layer);
  const int blocks = step.entries_of(spec.num_heads / spec.num_kv_heads).count * spec.num_kv_heads;
  const std::uint64_t bytes = to_size(num_tiles) * to_size(step.rows().count()) * to_size(spec.num_heads) *
                              to_size(spec.head_dim + 2) * sizeof(float);
  return num_tiles > 1 && blocks < 2 * context_->device.info().num_multiprocessors && bytes <= kPartialBytes;
}

void CardAttention::attend(int layer, const AttentionTensors<CardForm>& w, const CardStep& step) {
  const AttentionSpec& spec = spec_of(layer);
  const CardRows arrays = step.rows_of(layer);
  const CardEntries entries = step.entries_of(spec.num_heads / spec.num_kv_heads);
  const int rows = step.rows().count(), num_tiles = step.tiles_of(spec.window);
  const bool split = is_split(layer, step, num_tiles);
  Launch launch = attention_launch(layout_->type, entries.queries, spec.head_dim);
  launch.grid_x = entries.count * (split ? num_tiles : 1);
  launch.grid_y = spec.num_kv_heads;
  context_->device.launch(launch, AttentionArguments{.kv = kv_[to_size(layer)],
                                                     .entries = entries.entries,
                                                     .q = q_.as<float>(),
                                                     .out = attended_.as<float>(),
                                                     .partials = split ? partials_.as<float>() : nullptr,
                                                     .sinks = w.sinks,
                                                     .batch_row = step.batch_rows(),
                                                     .positions = arrays.positions,
                                                     .first_block = arrays.first_block,
                                                     .blocks = arrays.blocks,
                                                     .num_entries = entries.count,
                                                     .num_rows = rows,
                                                     .window = spec.window,
                                                     .heads_of_kv = spec.num_heads / spec.num_kv_heads,
                                                     .lanes = context_->order.lanes,
                                                     .soft_cap = spec.soft_cap});
  if (!split) return;
  context_->device.launch({.kernel = "octavo_merge_tiles",
                           .grid_x = spec.num_heads,
                           .grid_y = rows,
                           .threads = 32,
                           .shared_bytes = merge_tiles_shared(spec.head_dim)},
                          MergeTilesArguments{.partials = partials_.as<float>(),
                                              .sinks = w.sinks,
                                              .out = attended_.as<float>(),
                                              .num_tiles = num_tiles,
                                              .num_rows = rows,
                                              .num_heads = spec.num_heads,
                                              .head_dim = spec.head_dim});
}

}  // namespace octavo::gpu
