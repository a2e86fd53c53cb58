// The attention work of one step: which queries meet which positions, as items that threads claim.
//
// Made once a step from the batch's integers and used by every layer of a group. How the work is cut never changes a
// result (kernels.h); it only feeds the threads.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"
#include "model/batch.h"
#include "model/config.h"

namespace octavo {

class AttentionPlan {
 public:
  /// `q` and `out` are the step's query and output buffers, [rows, num_heads, head_dim].
  AttentionPlan(const ModelConfig& config, int num_threads, int max_context, const float* q, float* out);

  /// Plans one group of the batch; `window` is 0 where its layers see everything. The batch must outlive the plan's
  /// use.
  void build(const Batch& batch, int group, int window);

  /// Items for AttentionFn, in any order.
  const std::vector<AttentionItem>& items() const { return items_; }

  /// Results that were computed in splits and are to be merged, after all items, by MergeSplitsFn.
  struct Merge {
    AttentionItem item;
    int num_splits;
  };
  const std::vector<Merge>& merges() const { return merges_; }

 private:
  void add_sequence(const Batch& batch, int group, int sequence, int window, bool split);
  void add_splits(const AttentionItem& whole);

  const ModelConfig& config_;
  const int num_threads_;
  const float* q_;
  float* out_;
  std::vector<AttentionItem> items_;
  std::vector<Merge> merges_;
  AlignedBuffer<float> partial_;
  std::size_t partial_used_ = 0;
};

}  // namespace octavo
