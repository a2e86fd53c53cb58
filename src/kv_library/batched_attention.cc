#include "octavo/kv/attention.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <system_error>

#include "attention/attention_plan.h"
#include "base/cpu_info.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "base/to_size.h"
#include "kernels/dispatch.h"
#include "kv/kv_error.h"

namespace octavo {
namespace {

// Kernels count positions beyond the last one, by less than two tiles, so these must fit an int too.
constexpr int kMaxPositions = std::numeric_limits<int>::max() - 2 * kTileTokens + 1;

/// The shape of a call, checked against the lengths that it gave.
struct Dims {
  int num_heads, num_kv_heads, head_dim;
  std::size_t row_floats() const { return to_size(num_heads) * to_size(head_dim); }
};

Result<Dims> check_shape(const AttentionOptions& options, int num_kv_heads, int head_dim, std::size_t num_rows,
                         std::size_t queries, std::size_t out) {
  if (head_dim < 1 || head_dim > kMaxHeadDim)
    return fail("head_dim: found {}, expected 1 to {}", head_dim, kMaxHeadDim);
  if (num_kv_heads < 1) return fail("num_kv_heads: found {}, expected at least 1", num_kv_heads);
  if (options.num_heads < 1 || options.num_heads % num_kv_heads != 0)
    return fail("num_heads: found {}, expected a multiple of the {} KV heads", options.num_heads, num_kv_heads);
  if (options.window < 0) return fail("window: found {}, expected at least 0", options.window);
  const Dims dims{options.num_heads, num_kv_heads, head_dim};
  if (queries % dims.row_floats() != 0)
    return fail("queries: found {} floats, expected a multiple of {} heads x {} dimensions", queries, dims.num_heads,
                dims.head_dim);
  if (queries != num_rows * dims.row_floats())
    return fail("queries: found {} rows, expected {}, the rows of all slots", queries / dims.row_floats(), num_rows);
  if (out != queries) return fail("out: found {} floats, expected {}, as many as queries", out, queries);
  return dims;
}

/// A slot's length as an int; an empty slot gives 0, or an error.
Result<int> check_length(std::size_t slot, std::int64_t length, int num_rows, const AttentionOptions& options) {
  if (length < 0) return fail("slot {}: found {} positions, expected at least 0", slot, length);
  if (num_rows < 1) return fail("slot {}: found {} query rows, expected at least 1", slot, num_rows);
  if (length == 0 && options.zeros_for_empty) return 0;
  if (length == 0) return fail("slot {}: found no keys and values, expected at least 1 position", slot);
  if (num_rows > length)
    return fail("slot {}: found {} query rows, expected 1 to {}, its positions", slot, num_rows, length);
  if (length > kMaxPositions)
    return fail("slot {}: found {} positions, expected at most {}", slot, length, kMaxPositions);
  return static_cast<int>(length);
}

/// A slot's length in a layer. Error: the oldest positions that its rows see were given back.
Result<int> check_slot(const PagedKvCache& cache, int layer, std::size_t s, const ChunkRows& slot, int window,
                       const AttentionOptions& options) {
  if (!cache.has_sequence(slot.id)) return fail("slot {}: {}", s, sequence_not_found(slot.id).error().message);
  OCTAVO_TRY(const int length, check_length(s, cache.layer_length(slot.id, layer), slot.num_rows, options));
  const int begin = window == 0 ? 0 : std::max(0, length - slot.num_rows + 1 - window);
  const std::int64_t held = cache.table(slot.id, cache.group_of_layer(layer)).first_held();
  if (length > 0 && begin / cache.block_size() < held)
    return fail("slot {}: found keys and values from position {} on, expected from {}: commit() comes after attention",
                s, held * cache.block_size(), begin);
  return length;
}

}  // namespace

struct BatchedAttention::Impl {
  Impl(IsaLevel level, int num_threads) : isa(level), kernels(kernel_table(level)), pool(num_threads) {}

  /// A plan with room for `num_rows` rows of this shape; it is kept from call to call.
  AttentionPlan& plan_for(const Dims& dims, std::size_t num_rows) {
    const auto wanted = static_cast<int>(std::max<std::size_t>(1, num_rows));
    const bool fits = plan && plan_dims.num_heads == dims.num_heads && plan_dims.num_kv_heads == dims.num_kv_heads &&
                      plan_dims.head_dim == dims.head_dim && wanted <= plan_rows;
    if (!fits) {
      plan.emplace(AttentionPlan::Shape{dims.num_heads, dims.num_kv_heads, dims.head_dim, dims.head_dim, wanted},
                   pool.num_threads());
      plan_dims = dims;
      plan_rows = wanted;
    }
    return *plan;
  }

  /// Scales the queries, and fills the outputs with zeros, which slots without KV keep.
  void begin(std::span<const float> queries, float scale, std::span<float> out) {
    scaled.assign(queries.begin(), queries.end());
    kernels.scale(scaled.data(), scale, static_cast<std::int64_t>(scaled.size()));
    std::ranges::fill(out, 0.0F);
    sequences.clear();
    bytes_loaded = 0;
  }

  void add(std::span<const BlockId> blocks, std::size_t first_float, float* out, int length, int num_rows) {
    if (length == 0) return;
    sequences.push_back({.blocks = blocks,
                         .q = scaled.data() + first_float,
                         .out = out + first_float,
                         .first_position = length - num_rows,
                         .num_rows = num_rows});
  }

  void run(const Dims& dims, std::size_t num_rows, const KvLayer& kv, KvType type, int window) {
    if (sequences.empty()) return;
    AttentionPlan& attention = plan_for(dims, num_rows);
    attention.build(sequences, {.window = window}, kv.block_size);
    const ThreadPool::Step step(pool);
    attention.run(kv, kernels.attention[to_size(type)], kernels.merge_tiles, pool);
    bytes_loaded += attention.kv_bytes_loaded(kv);
  }

  IsaLevel isa;
  const KernelTable& kernels;
  ThreadPool pool;
  std::optional<AttentionPlan> plan;
  Dims plan_dims{};
  int plan_rows = 0;
  std::vector<float> scaled;
  std::vector<AttentionSequence> sequences;
  std::vector<ChunkRows> rows;  // the rows of a decode
  std::vector<BlockId> batch_rows;
  std::uint64_t bytes_loaded = 0;
};

Result<BatchedAttention> BatchedAttention::create(int num_threads, const std::string& isa) {
  OCTAVO_TRY(const IsaLevel level, parse_isa(isa));
  if (num_threads < 0 || num_threads > kMaxThreads)
    return fail("num_threads: found {}, expected 0 to {}", num_threads, kMaxThreads);
  try {
    return BatchedAttention(std::make_unique<Impl>(level, num_threads == 0 ? default_threads() : num_threads));
  } catch (const std::system_error& error) {  // thrown where the system refuses another thread
    return fail("num_threads: found {}, starting threads: {}", num_threads, error.what());
  }
}

BatchedAttention::BatchedAttention(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BatchedAttention::~BatchedAttention() = default;
BatchedAttention::BatchedAttention(BatchedAttention&&) noexcept = default;
BatchedAttention& BatchedAttention::operator=(BatchedAttention&&) noexcept = default;

Result<void> BatchedAttention::decode(const PagedKvCache& cache, int layer, std::span<const SequenceId> slots,
                                      std::span<const float> queries, const AttentionOptions& options,
                                      std::span<float> out) {
  impl_->rows.clear();
  for (const SequenceId id : slots) impl_->rows.push_back({id, 1});
  return chunk(cache, layer, impl_->rows, queries, options, out);
}

Result<void> BatchedAttention::chunk(const PagedKvCache& cache, int layer, std::span<const ChunkRows> slots,
                                     std::span<const float> queries, const AttentionOptions& options,
                                     std::span<float> out) {
  if (layer < 0 || layer >= cache.num_layers()) return layer_out_of_range(layer, cache.num_layers());
  std::size_t num_rows = 0;
  for (const ChunkRows& slot : slots) num_rows += to_size(std::max(0, slot.num_rows));
  OCTAVO_TRY(const Dims dims, check_shape(options, cache.num_kv_heads(layer), cache.head_dim(layer), num_rows,
                                          queries.size(), out.size()));
  const int g = cache.group_of_layer(layer);
  // Nothing beyond the layer's window can be seen.
  const int most = cache.window(layer);
  const int window = most > 0 && (options.window == 0 || options.window > most) ? most : options.window;
  std::vector<int> lengths;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    OCTAVO_TRY(const int length, check_slot(cache, layer, s, slots[s], window, options));
    lengths.push_back(length);
  }
  impl_->begin(queries, options.scale, out);
  std::size_t first_float = 0;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    impl_->add(cache.table(slots[s].id, g).block_ids(), first_float, out.data(), lengths[s], slots[s].num_rows);
    first_float += to_size(slots[s].num_rows) * dims.row_floats();
  }
  impl_->run(dims, num_rows, cache.memory(layer), cache.type(), window);
  return {};
}

Result<void> BatchedAttention::decode(const ContiguousKvCache& cache, std::span<const float> queries,
                                      const AttentionOptions& options, std::span<float> out) {
  const auto num_rows = to_size(cache.batch_size());
  OCTAVO_TRY(const Dims dims,
             check_shape(options, cache.num_kv_heads(), cache.head_dim(), num_rows, queries.size(), out.size()));
  impl_->batch_rows.clear();
  for (int row = 0; row < cache.batch_size(); ++row) {
    OCTAVO_TRY_VOID(check_length(to_size(row), cache.length(row), 1, options));
    impl_->batch_rows.push_back(row);
  }
  impl_->begin(queries, options.scale, out);
  for (std::size_t row = 0; row < num_rows; ++row)
    impl_->add(std::span(impl_->batch_rows).subspan(row, 1), row * dims.row_floats(), out.data(),
               cache.length(static_cast<int>(row)), 1);
  impl_->run(dims, num_rows, cache.layer(), cache.type(), options.window);
  return {};
}

Result<void> BatchedAttention::decode(const BatchedKvView& view, std::span<const float> queries,
                                      const AttentionOptions& options, std::span<float> out) {
  const auto num_slots = to_size(view.slot_count());
  OCTAVO_TRY(const Dims dims,
             check_shape(options, view.num_kv_heads(), view.head_dim(), num_slots, queries.size(), out.size()));
  const std::size_t token = to_size(dims.num_kv_heads) * to_size(dims.head_dim);
  for (std::size_t s = 0; s < num_slots; ++s) {
    const int position = view.position(static_cast<int>(s));
    OCTAVO_TRY_VOID(check_length(s, position, 1, options));
    const std::size_t needed = to_size(position) * token;
    const KvSlot given = view.given(static_cast<int>(s));
    if (given.keys.size() < needed)
      return fail("slot {}: found {} floats of keys, expected {}", s, given.keys.size(), needed);
    if (given.values.size() < needed)
      return fail("slot {}: found {} floats of values, expected {}", s, given.values.size(), needed);
  }
  impl_->begin(queries, options.scale, out);
  // Each slot is one block of its own memory, [tokens][kv_heads][head_dim].
  static constexpr BlockId kOnlyBlock = 0;
  for (std::size_t s = 0; s < num_slots; ++s) {
    const KvSlot slot = view.kv_for_slot(static_cast<int>(s));
    if (slot.position == 0) continue;
    const auto* keys = reinterpret_cast<const std::uint8_t*>(slot.keys.data());
    const auto* values = reinterpret_cast<const std::uint8_t*>(slot.values.data());
    const KvLayer layer{.data = const_cast<std::uint8_t*>(keys),  // attention only reads
                        .block_bytes = slot.keys.size_bytes(),
                        .head_bytes = to_size(dims.head_dim) * sizeof(float),
                        .v_offset = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(values) -
                                                                reinterpret_cast<std::uintptr_t>(keys)),
                        .token_bytes = 2 * to_size(dims.head_dim) * sizeof(float),
                        .k_order = KOrder::kTokenMajor,
                        .block_size = slot.position,
                        .num_kv_heads = dims.num_kv_heads,
                        .k_dim = dims.head_dim,
                        .v_dim = dims.head_dim,
                        .token_stride = static_cast<int>(token)};
    impl_->sequences.clear();
    impl_->add({&kOnlyBlock, 1}, s * dims.row_floats(), out.data(), slot.position, 1);
    impl_->run(dims, 1, layer, KvType::kF32, options.window);
  }
  return {};
}

std::uint64_t BatchedAttention::kv_bytes_loaded() const { return impl_->bytes_loaded; }
std::uint64_t BatchedAttention::scratch_bytes() const { return impl_->plan ? impl_->plan->scratch_bytes() : 0; }
int BatchedAttention::num_threads() const { return impl_->pool.num_threads(); }
std::string BatchedAttention::isa() const { return std::string(isa_name(impl_->isa)); }

void BatchedKvView::add_owned(std::vector<float> keys, std::vector<float> values, int position) {
  auto own_keys = std::make_unique<std::vector<float>>(std::move(keys));
  auto own_values = std::make_unique<std::vector<float>>(std::move(values));
  slots_.push_back({.keys = *own_keys, .values = *own_values, .position = position});
  owned_.push_back(std::move(own_keys));
  owned_.push_back(std::move(own_values));
}

KvSlot BatchedKvView::kv_for_slot(int slot) const {
  const KvSlot& given = slots_[to_size(slot)];
  const std::size_t floats = to_size(given.position) * to_size(num_kv_heads_) * to_size(head_dim_);
  return {.keys = given.keys.first(std::min(floats, given.keys.size())),
          .values = given.values.first(std::min(floats, given.values.size())),
          .position = given.position};
}

}  // namespace octavo
