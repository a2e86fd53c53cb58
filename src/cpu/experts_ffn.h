// The mixture of experts of a layer: each row is computed by the experts that its router scores highest.
//
// Rows are grouped by expert, so that a step reads an expert's weights once for all rows that chose it, and others not
// at all. A row's result depends on no other row: its experts, their weights and the order in which their results are
// added (by rank, the highest score first) are its own. Owned by the transformer; one step uses it at a time, and
// nothing allocates in it.
#pragma once

#include <span>
#include <vector>

#include "cpu/dense_ffn.h"
#include "cpu/expert_choices.h"
#include "cpu/residual_stream.h"
#include "cpu/weights.h"
#include "kv/layer_range.h"
#include "stage/step_rows.h"

namespace octavo {

class ExpertsFfn {
 public:
  /// Has room for the widest mixture of some of a model's layers; none where they have no mixture. `shared` computes
  /// the experts of every row. All but the config must outlive it.
  ExpertsFfn(const ModelConfig& config, const Weights& weights, ComputeContext& context, ResidualStream& stream,
             DenseFfn& shared, LayerRange layers = {});

  /// A new step: nothing is counted yet.
  void begin();
  void run(const ExpertsFfnSpec& spec, const ExpertsFfnWeights& w, const StepRows& rows, const Epilogue& epilogue);

  /// The forms in which matrices read the feed-forward's input.
  static RowForms forms(const ExpertsFfnWeights& w) {
    const RowForms of_experts = w.has_latent() ? w.latent_down.forms() : w.gate.first.forms() | w.up.first.forms();
    return w.router.forms() | of_experts | w.shared_gate.forms() | DenseFfn::forms(w.shared);
  }

  /// Bytes of the experts whose weights were read in this step.
  std::uint64_t bytes_read() const { return bytes_read_; }
  /// The batch's sequences that have a row whose scores are not finite, as they were found.
  std::span<const std::int32_t> not_finite() const { return not_finite_; }

 private:
  /// Panels begin .. end of a group's expert, or pairs of panels.
  struct Piece {
    std::int32_t group;
    std::int64_t begin, end;
  };
  /// A layer's rows first .. first + choices_.num_rows(), computed together.
  struct Pass {
    const ExpertsFfnSpec& spec;
    const ExpertsFfnWeights& w;
    int first;
  };

  struct Room;

  ExpertsFfn(int width, const Room& room, ComputeContext& context, ResidualStream& stream, DenseFfn& shared);
  void multiply_all_rows(const ExpertsFfnSpec& spec, const ExpertsFfnWeights& w, int rows);
  /// Computes a layer whose router, experts and expert for every row have norms of their own.
  void multiply_normed_rows(const ExpertsFfnSpec& spec, const ExpertsFfnWeights& w, int rows);
  void norm_rows(const Norm& norm, int rows);
  void choose(const Pass& pass, const StepRows& rows);
  const float* experts_row(const Pass& pass, std::int64_t row) const;
  void gather(const Pass& pass);
  void multiply_up(const Pass& pass);
  void multiply_down(const Pass& pass);
  void combine(const Pass& pass, int rows, const Epilogue& epilogue);
  void add_results(const Pass& pass, std::int64_t row, float* sum);
  void finish_row(const Pass& pass, std::int64_t row, int rows, const Epilogue& epilogue);
  void add_shared(const ExpertsFfnWeights& w, std::int64_t row);
  void cut(std::int64_t items);
  template <class Body>
  void for_pieces(std::int64_t items, const Body& body);
  ActivationRows input_of(const ExpertChoices::Group& group) const;

  ComputeContext& context_;
  ResidualStream& stream_;
  DenseFfn& shared_;
  int width_, pass_rows_;
  bool reads_stream_ = false;    // the step has one row, which all its experts read alike
  AlignedBuffer<float> scores_;  // [rows, experts]
  ExpertChoices choices_;
  std::vector<Piece> pieces_;
  int row_width_ = 0;             // of the rows that the layer's experts read and give
  AlignedBuffer<float> latents_;  // [rows, latent width]   the experts' rows, then their sums, where they are not h
  QuantizedRows latents_quantized_;
  AlignedBuffer<float> inputs_;  // [slots, row width]     where a product wants floats
  QuantizedRows inputs_quantized_;
  AlignedBuffer<float> gated_;  // [slots, expert width]  activation(gate, up), where a product wants floats
  QuantizedRows gated_quantized_;
  AlignedBuffer<float> gated_scratch_;   // [threads][gated_scratch_floats] (cpu/multiply.h)
  AlignedBuffer<float> results_;         // [slots, row width]
  AlignedBuffer<float> shared_gates_;    // [rows]         where a mixture has a gated expert for every row
  AlignedBuffer<float> shared_results_;  // [rows, width]
  std::uint64_t bytes_read_ = 0;
  std::vector<std::int32_t> not_finite_;
};

}  // namespace octavo
