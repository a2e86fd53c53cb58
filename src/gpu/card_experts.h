// Mixtures of experts on the card, with the bits of cpu/experts_ffn.h.
//
// Rows choose their experts on the card and are grouped there by expert (kernels/expert_arguments.h): the host learns
// the choices after the step. Its launches depend on the number of rows alone. Owned by CardStage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/card_context.h"
#include "gpu/card_dense_ffn.h"
#include "model/layer_spec.h"
#include "stage/step_rows.h"

namespace octavo::gpu {

class CardExperts {
 public:
  /// Allocates memory for the largest mixture of a stage's layers, if there is one. `shared` computes the shared
  /// experts. Both references must outlive this object. Error: the card has too little memory.
  static Result<CardExperts> create(CardContext& context, CardDenseFfn& shared, const ModelConfig& config,
                                    LayerRange layers, int max_rows);
  static std::uint64_t scratch_bytes(const ModelConfig& config, int max_rows);

  /// The rows to compute: how many, and on the card the batch's row of each; null: row r is the batch's row r.
  struct Rows {
    int count;
    const std::int32_t* batch_rows;
  };
  /// Sets all counts to 0, for a batch of `rows` rows.
  void begin(int rows);
  /// h = the result for the rows, [rows, width of the model]. `x` is the residual stream.
  void run(const ExpertsFfnSpec& spec, const ExpertsFfnTensors<CardForm>& w, const Rows& rows, float* x, float* h);
  /// Sends the counts of the batch's `rows` rows to the host, which may read them once the step has ended.
  void send_counts(int rows);
  void read_counts(const StepRows& rows);

  /// The counts of the last step (cpu/experts_ffn.h).
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::span<const std::int32_t> not_finite() const { return not_finite_; }

 private:
  /// The sizes of the largest mixture.
  struct Room {
    int rows = 0, experts = 0, chosen = 0, shared_width = 0, slots = 0, items = 0;  // `rows`: those of a pass
    std::int64_t width = 0, cols = 0;  // the width of an expert; the most columns of a matrix of experts

    Room(const ModelConfig& config, LayerRange layers, int max_rows);
  };
  /// A layer's rows first .. first + count, which are computed together.
  struct Pass {
    const ExpertsFfnSpec& spec;
    const ExpertsFfnTensors<CardForm>& w;
    const Rows& rows;
    int first, count;
    ItemPlan plan;
  };

  CardExperts(CardContext& context, CardDenseFfn& shared, int width, const Room& room)
      : context_(&context), shared_(&shared), width_(width), pass_rows_(room.rows) {}
  Result<void> take_memory(const Room& room, int max_rows);
  void multiply_all_rows(const ExpertsFfnSpec& spec, const ExpertsFfnTensors<CardForm>& w, int rows, const float* h);
  void multiply_normed_rows(const ExpertsFfnSpec& spec, const ExpertsFfnTensors<CardForm>& w, int rows, float* x,
                            float* h);
  void choose(const Pass& pass);
  void group(const Pass& pass);
  void multiply_up(const Pass& pass, const float* h);
  void multiply_down(const Pass& pass);
  void multiply_items(const Pass& pass, const CardExpertMatrices& w, const float* x, float* y);
  void combine(const Pass& pass, float* h);
  void finish(const ExpertsFfnTensors<CardForm>& w, int rows, float* h);

  CardContext* context_;
  CardDenseFfn* shared_;
  int width_, pass_rows_;
  CardMemory scores_;                     // [max_rows, experts]
  CardMemory experts_, weights_, slots_;  // [rows of a pass, chosen]
  CardMemory items_;                      // [items]
  CardMemory int8_;                       // [slots, the widest matrix]
  CardMemory gate_, up_;                  // [slots, expert width]
  CardMemory results_;                    // [slots, width]; before that, the experts' input where they read floats
  CardMemory shared_gates_;               // [max_rows]
  CardMemory shared_results_;             // [max_rows, width]
  CardMemory counts_;                     // bytes that were read, as 64 bits; then [max_rows], 1: not finite
  PinnedMemory zeros_, counts_of_host_;   // both in the layout of counts_
  std::uint64_t bytes_read_ = 0;
  std::vector<std::int32_t> not_finite_;
};

}  // namespace octavo::gpu
