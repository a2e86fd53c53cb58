// The forward pass: a pre-norm transformer with grouped-query attention over paged KV, for every architecture of the
// table in config.h. A layer is read top to bottom in the order of the papers.
//
// Owned by CpuRunner, which serializes its use; a step's work is shared out over the pool.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "kv/attention_plan.h"
#include "kv/kv_storage.h"
#include "model/activations.h"
#include "model/batch.h"
#include "model/multiply.h"
#include "model/weights.h"
#include "octavo/kv/paged_kv_cache.h"

namespace octavo {

class Transformer {
 public:
  /// All references must outlive it.
  Transformer(const ModelConfig& config, const Weights& weights, PagedKvCache& kv, const KernelTable& kernels,
              ThreadPool& pool, int max_rows);

  /// Runs all layers; the residual stream of the batch's logit rows is left in place for logits().
  void forward(const Batch& batch);

  /// Logits of the batch's logit_rows[first .. first + count), at most kMaxLogitRows, [count, vocab_size].
  std::span<const float> logits(int first, int count);

 private:
  struct Place {  // where a layer's KV lies
    int group, layer;
  };
  struct Norm {  // of a sub-layer's input
    const float* weight;
    bool quantize;  // for a matrix that meets it in int8
  };

  Norm attention_norm(int layer) const;

  void embed(const Batch& batch);
  void compute_angles(const Batch& batch);
  /// Of all rows, for every group.
  void plan_attention(const Batch& batch);
  /// Of some rows of the batch, ascending, for one group; rows[i] is row i of q and of the output.
  void plan_attention_of(const Batch& batch, std::size_t group, std::span<const std::int32_t> rows);
  /// Rows of one sequence, from `batch_row` of the batch and `row` of q on.
  void add_attention(const Batch& batch, std::size_t group, std::int32_t batch_row, std::int64_t row, int num_rows);

  void layer(const Batch& batch, int index);
  void last_layer(const Batch& batch);
  /// Row i of the residual stream becomes what row rows[i] was.
  void keep_rows(std::span<const std::int32_t> rows);
  /// From K and V in the cache to the normed input of the feed-forward block; and from there to the next layer's.
  void attention_block(int index, int rows);
  void feed_forward_block(int index, int rows);

  /// Row `row` of q, which is `batch_row` of the batch, ready for attention: bias, norms of heads, rotary positions,
  /// the scale of scores.
  void finish_q(int index, std::int64_t row, std::int64_t batch_row);
  /// K and V of a row, likewise, into the cache.
  void write_kv(const Batch& batch, int index, std::int64_t row);
  /// Norm, if there is one, and rotary position of each head.
  void turn_heads(int index, std::int64_t batch_row, const float* norm, int num_heads, float* heads);
  void attend(int group, const KvLayer& kv);

  /// Row `row` of h = norm(row `x_row` of x), of `rows` in all, in floats and, where a product wants it, in int8.
  void norm_row(const Norm& norm, std::int64_t x_row, std::int64_t row, int rows);
  void quantize(const float* x, std::int64_t cols, std::int64_t row, int rows);
  /// x += post_norm(h), or x += h where there is no such norm.
  void add_residual(const float* post_norm, std::int64_t row);
  /// Calls body(row, worker) for each row, on all threads.
  template <class Body>
  void for_rows(int rows, const Body& body);
  /// Products of the rows of x, [rows, cols], whose int8 form was made last.
  void multiply(std::span<const Product> products, const float* x, std::int64_t cols, int rows);

  const ModelConfig& config_;
  const Weights& weights_;
  KvStorage& kv_;
  const KernelTable& kernels_;
  ThreadPool& pool_;
  Activations act_;
  PanelScratch scratch_;
  std::vector<Place> places_;                           // [num_layers]
  std::vector<int> windows_;                            // [groups] as in PagedKvCache::Group
  std::vector<AttentionPlan> plans_;                    // [groups]
  std::vector<AttentionSequence> attention_sequences_;  // of the batch, while plans are built
  std::vector<double> frequencies_;                     // [head_dim / 2] radians a position, layers without a window
  std::vector<double> local_frequencies_;
  std::vector<std::int32_t> row_sequence_;  // [rows] sequence of each row of the batch
};

}  // namespace octavo
