// Attention over KV memory, for users with an engine of their own: the plan and kernels of Octavo's own steps.
//
// A slot is a sequence with one query row (decode) or several (a chunk: its last rows, causal). The length of a slot is
// that of the layer (PagedKvCache::layer_length), so that a transformer writes, attends layer by layer, then commits:
//
//     for (int layer = 0; layer < num_layers; ++layer) {
//       ...                                                        // q, k, v of position p
//       cache->write_kv(id, layer, p, k, v);
//       attention.decode(*cache, layer, {&id, 1}, q, options, out);
//     }
//     cache->commit(id, p + 1);                                    // windows give back what the next row does not see
//
// Queries and results are [rows, num_heads, head_dim], slot after slot. A query head h reads KV head h / (num_heads /
// num_kv_heads); head_dim is at most 576. The bits of a row's result depend on its own keys and values only, and not on
// other slots, the number of threads, the layout, the block size or the sharing of blocks. Blocks that slots share are
// loaded once for all that go over them together: whole tiles of 256 positions, and up to 128 rows times query heads of
// a KV head.
//
// The softmax is computed online (Milakov and Gimelshein 2018; Dao et al. 2022), in tiles at fixed positions that are
// merged in order. One thread at a time drives a BatchedAttention, which has its own pool of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "octavo/kv/contiguous_kv_cache.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {

struct AttentionOptions {
  int num_heads = 0;             // query heads, a multiple of the KV heads
  float scale = 0;               // the factor of scores, usually 1 / sqrt(head_dim)
  int window = 0;                // positions that a query sees, its own included; 0: all before it. The narrower of
                                 // this window and that of a paged cache's group counts
  bool zeros_for_empty = false;  // a slot without KV gives zeros, and is no error
};

/// The KV of one slot in the caller's memory: float32 [num_tokens][num_kv_heads][head_dim] each, or more tokens.
struct KvSlot {
  std::span<const float> keys, values;
  int position = 0;  // the number of tokens that count
};

/// A view of slots in the caller's memory (borrowed), or in vectors that the view has (owned).
class BatchedKvView {
 public:
  BatchedKvView(int num_kv_heads, int head_dim) : num_kv_heads_(num_kv_heads), head_dim_(head_dim) {}
  /// The spans must outlive the view.
  void add_borrowed(const KvSlot& slot) { slots_.push_back(slot); }
  void add_owned(std::vector<float> keys, std::vector<float> values, int position);

  int slot_count() const { return static_cast<int>(slots_.size()); }
  int position(int slot) const { return slots_[static_cast<std::size_t>(slot)].position; }
  /// The KV of a slot, cut to `position` tokens.
  KvSlot kv_for_slot(int slot) const;
  /// The slot as it was given.
  const KvSlot& given(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  int num_kv_heads() const { return num_kv_heads_; }
  int head_dim() const { return head_dim_; }

 private:
  int num_kv_heads_, head_dim_;
  std::vector<KvSlot> slots_;                               // as they were given
  std::vector<std::unique_ptr<std::vector<float>>> owned_;  // what owned slots point to
};

/// The query rows of one sequence: its last `num_rows` positions.
struct ChunkRows {
  SequenceId id;
  int num_rows;
};

class BatchedAttention {
 public:
  /// `num_threads` 0: one thread for each physical core. `isa`: the names are those of EngineOptions. Error: an isa
  /// that is unknown or not supported.
  static Result<BatchedAttention> create(int num_threads = 0, const std::string& isa = "auto");
  ~BatchedAttention();
  BatchedAttention(BatchedAttention&&) noexcept;
  BatchedAttention& operator=(BatchedAttention&&) noexcept;

  /// Attends with one query row per slot, at the last position that is written in the layer. `queries` and `out` are
  /// [slots, num_heads, head_dim]. Errors name the slot and both lengths: a number of heads or dimensions that is 0 or
  /// no multiple, a wrong number of queries, K or V too short, a slot without KV, positions that left the group's
  /// window, an unknown sequence or layer. An empty batch gives an empty result.
  Result<void> decode(const PagedKvCache& cache, int layer, std::span<const SequenceId> slots,
                      std::span<const float> queries, const AttentionOptions& options, std::span<float> out);
  Result<void> decode(const BatchedKvView& view, std::span<const float> queries, const AttentionOptions& options,
                      std::span<float> out);
  /// Decodes with the rows of the batch as slots.
  Result<void> decode(const ContiguousKvCache& cache, std::span<const float> queries, const AttentionOptions& options,
                      std::span<float> out);
  /// Attends with several rows per slot, each of which sees the positions up to its own. `queries` and `out` are [all
  /// rows, num_heads, head_dim].
  Result<void> chunk(const PagedKvCache& cache, int layer, std::span<const ChunkRows> slots,
                     std::span<const float> queries, const AttentionOptions& options, std::span<float> out);

  /// The bytes of K and V that the last call had to load, by its plan. Bytes that several readers share count once, and
  /// so do bytes that are read again while they are in the processor's caches.
  std::uint64_t kv_bytes_loaded() const;
  /// The bytes of scratch memory for tiles and merged results, which grow with the rows of a call and not with the
  /// depth.
  std::uint64_t scratch_bytes() const;
  int num_threads() const;
  std::string isa() const;

 private:
  struct Impl;
  explicit BatchedAttention(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
