// What kernels must know about a step's rows: positions, block tables, angles, recurrent states, and how attention is
// shared out among blocks of threads.
//
// Owned by CardStage.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gpu/kernels/arguments.h"
#include "gpu/kernels/delta_arguments.h"
#include "gpu/step_arrays.h"
#include "kv/state_layout.h"
#include "stage/recurrent_rows.h"
#include "stage/rope_table.h"
#include "stage/stage.h"
#include "stage/step_rows.h"

namespace octavo::gpu {

/// The arrays about the batch's rows, on the card.
struct CardRows {
  const std::int32_t* positions = nullptr;    // [batch rows]
  const std::int32_t* first_block = nullptr;  // [batch rows], for a group
  const std::int32_t* blocks = nullptr;       // for a group
  const float* cosines = nullptr;             // [batch rows, num_rotated / 2], for a layer
  const float* sines = nullptr;
  const float* scales = nullptr;  // [batch rows], of a layer's scores
};

/// The attention of the rows to compute, shared out among blocks of threads.
struct CardEntries {
  const AttentionEntry* entries = nullptr;  // on the card
  int count = 0;
  int queries = 1;  // the most queries of an entry, rounded up to a number that kernels are made for
};

/// The rows of sequences, for the kernels of recurrent layers.
struct CardRanges {
  const DeltaRange* ranges = nullptr;      // on the card
  const std::int32_t* range_of = nullptr;  // [rows], on the card
  int count = 0;
};

class CardStep {
 public:
  /// Makes the arrays for a stage's layers. `rope_factors`: the model's; null: none. All references must outlive it.
  CardStep(CudaDevice& device, const StageParts& parts, LayerRange layers, const float* rope_factors);

  /// Computes the angles of the step's rows, and sends all arrays to the card.
  void begin(const StepRows& rows);

  /// The rows to compute, which become fewer within a step.
  StepRows& rows() { return rows_; }
  const StepRows& rows() const { return rows_; }
  /// The batch's row of each row to compute, on the card; null: row r is the batch's row r.
  const std::int32_t* batch_rows() const { return rows_.are_kept() ? logit_rows() : nullptr; }
  const std::int32_t* logit_rows() const { return arrays_.at<std::int32_t>(logit_rows_); }
  /// The arrays for a layer that attends.
  CardRows rows_of(int layer) const;
  /// The ranges of all rows of the batch, where a layer is recurrent.
  CardRanges ranges() const;
  /// `heads_of_kv`: the query heads of a KV head.
  CardEntries entries_of(int heads_of_kv) const;
  /// The most tiles that an entry of the rows to compute sees within a window.
  int tiles_of(int window) const;

 private:
  struct Layer {
    int group = 0;
    std::size_t rope = 0;   // an index of tables_
    std::size_t scale = 0;  // an index of scales_
  };
  struct Group {
    std::size_t first_block = 0, blocks = 0;  // places of arrays
  };
  struct Rope {
    std::size_t cosines = 0, sines = 0;
  };
  struct Scale {
    const AttentionSpec* spec = nullptr;  // the spec of a layer with this scale
    std::size_t scales = 0;
  };
  struct Entries {
    int heads_of_kv = 0;
    std::array<std::size_t, 2> place = {};  // for all rows, and for those whose logits are wanted
    std::array<int, 2> count = {}, queries = {};
  };

  void send_groups(const Batch& batch);
  void send_angles(const Batch& batch);
  void send_entries(Entries& entries, int phase);
  void send_ranges(const Batch& batch);

  ThreadPool& pool_;
  const Math math_;
  StepRows rows_;
  StepArrays arrays_;
  RopeTables tables_;
  std::vector<Layer> layers_;  // [layers of the model up to the stage's last one]
  std::vector<Group> groups_;
  std::vector<Rope> ropes_;  // [tables]
  std::vector<Scale> scales_;
  std::vector<Entries> entries_;
  std::vector<AttentionEntry> made_;  // scratch of send_entries()
  RecurrentRows recurrent_;
  bool is_recurrent_ = false;  // a layer of the stage is recurrent
  std::size_t positions_ = 0, logit_rows_ = 0, ranges_ = 0, range_of_ = 0;
};

}  // namespace octavo::gpu
