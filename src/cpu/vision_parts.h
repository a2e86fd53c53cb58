// The parts of a vision encoder, each over some rows of a picture: patches, layers, mergers.
//
// A tower owns it. It has what the tower's encodings share: scratch for the rows of a piece. One thread at a time calls
// it, inside a pool step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention/attention_plan.h"
#include "base/aligned_buffer.h"
#include "cpu/compute_context.h"
#include "cpu/dense_ffn.h"
#include "cpu/residual_stream.h"
#include "cpu/vision_merger.h"
#include "cpu/vision_row_join.h"
#include "cpu/vision_rows.h"
#include "cpu/vision_weights.h"
#include "model/vision_config.h"

namespace octavo {

class VisionParts {
 public:
  /// The most and the fewest rows of a piece. Pieces are multiples of the latter, so that row tiles are whole.
  static constexpr int kMostRows = 512, kLeastRows = 8;
  static constexpr int kRowJoin = -1;  // in a layer's place: the attention in front of the joining of rows
  /// References must outlive it.
  VisionParts(const VisionConfig& config, const VisionWeights& weights, const KernelTable& kernels, Math math,
              ThreadPool& pool);

  Math math() const { return context_.math; }
  std::uint64_t scratch_bytes() const;

  /// Makes rows of patches from the picture's pixels.
  void embed(VisionRows& rows, VisionRowRange range);
  /// Writes the keys and values of a layer.
  void write_keys(VisionRows& rows, int layer, VisionRowRange range);
  /// Attends in a layer, over the keys and values of all rows, or of those of a window.
  void attend(VisionRows& rows, int layer, VisionRowRange range);
  void feed_forward(VisionRows& rows, int layer, VisionRowRange range);
  /// VisionRowJoin::join().
  void join_rows(VisionRows& rows, VisionRowRange joined) { row_join_.join(rows, joined); }
  /// VisionMerger::merge().
  void merge(VisionRows& rows, int vector, VisionRowRange tokens, std::span<float> out) {
    merger_.merge(rows, vector, tokens, out);
  }

 private:
  /// The weights that attention reads, of one layer.
  struct AttentionPart {
    const AttentionWeights& weights;
    const float *norm, *norm_bias, *post_norm;
    const LayerClampTensors<CpuForm>* clamps;  // where products have bounds
  };
  AttentionPart attention_part(int layer) const;
  /// Makes sequences of rows that see the same.
  void cut_by_sight(const VisionRows& rows, int layer, VisionRowRange range);
  /// Norms rows of the picture as a part's input.
  void norm_rows(VisionRows& rows, const float* weight, const float* bias, RowForms forms, VisionRowRange range);
  /// Adds a part's results, with their bias or their norm, to the picture's rows.
  void add_results(VisionRows& rows, const float* bias, const float* post_norm, VisionRowRange range);
  /// Multiplies rows with products that bound their inputs and outputs: each reads a copy of its own.
  void multiply_clamped(const WeightMatrix& w, const ClampTensors<CpuForm>& clamp, const float* x, int rows,
                        float* out);
  /// Multiplies the stream's h, which is normed, with products that bound their inputs and outputs.
  void multiply_clamped_input(std::span<const Product> products, std::span<const ClampTensors<CpuForm>* const> clamps,
                              int rows);
  /// Norms a patch's numbers in place, where there are weights for that.
  void norm_patch(const float* weight, const float* bias, std::int64_t size, float* x) const;
  void gather_patch(const VisionRows& rows, std::int64_t patch, float* out) const;
  void add_place(const VisionRows& rows, std::int64_t patch, float* x) const;
  void add_spread_place(const VisionRows& rows, PatchPlace place, float* x) const;
  /// Writes the angles of a patch into the worker's scratch: cosines, then sines, [head_dim / 2] each.
  float* angles_of(const VisionRows& rows, std::int64_t patch, int worker);
  /// Norms and rotates heads of Q or K.
  void finish_heads(const float* norm, const float* angles, int num_heads, float* heads) const;
  void rotate(const float* angles, float* head) const;
  void feed_forward_clamped(const VisionLayerTensors<CpuForm>& w, int rows);
  void feed_forward_quick(const DenseFfnWeights& w, int rows);

  const VisionConfig& config_;
  const VisionWeights& weights_;
  const AttentionSpec& attention_;  // the same in every layer
  ComputeContext context_;          // for patches
  ResidualStream stream_;           // [rows, width]
  DenseFfn ffn_;
  std::optional<AttentionPlan> plan_;         // none: there are no layers
  std::vector<AttentionSequence> sequences_;  // those of a piece
  VisionRowJoin row_join_;
  VisionMerger merger_;
  std::array<std::array<float, 256>, 3> pixels_ = {};  // the numbers of all values of each channel
  AlignedBuffer<float> patches_;                       // [rows, patch_width]
  AlignedBuffer<float> q_, attended_;                  // [rows, q_width]
  AlignedBuffer<float> k_, v_;                         // [rows, k_width], [rows, v_width]
  AlignedBuffer<float> angles_;                        // [threads, head_dim]
  AlignedBuffer<float> ones_;                          // [head_dim] the weights of a norm that has none
  // Empty where products have no bounds.
  AlignedBuffer<float> clamped_;    // [rows, the most columns of a product]
  AlignedBuffer<float> gate_, up_;  // [rows, feed-forward width] of those that are computed in steps
};

}  // namespace octavo
