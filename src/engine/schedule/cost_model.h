// The time of a step: predicted from counts, fitted to the steps that were timed.
//
// The time is a sum of non-negative costs: of a step, of a row, of a row of logits, of a byte of keys and values read,
// of a multiply-add of attention, and of a byte of the experts that rows choose. How many these are is known after the
// step only. Before it they are foreseen as rows that choose by chance would read them; rows that choose alike count as
// fewer, by a factor that follows what steps have read. Timed steps are kept in bins by the number of rows and by the
// share of attention; a bin forgets its own old steps only. So a long time of decode steps does not wash out the cost
// of a prompt's chunk, of which it says nothing. On top of the fit lies one factor that follows the last steps quickly:
// a machine that others use as well is slower in everything at once. Draws are no part of the fit: what one costs is
// measured by itself, as it depends on the samplers of its request (Sequence::draw_ms).
//
// Owned by the engine; only the thread that drives it may call it. Nothing allocates after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/model_work.h"

namespace octavo {

/// The work of a step, in counts.
struct StepWork {
  double rows = 0;
  double logit_rows = 0;
  double kv_bytes = 0;        // keys and values read, in all layers; once a sequence
  double attention_macs = 0;  // multiply-adds of rows with the tokens that they see, in all layers
  double draw_ms = 0;         // of draws and their events, as those before them took

  StepWork& operator+=(const StepWork& other);
  friend StepWork operator+(StepWork a, const StepWork& b) { return a += b; }
};

class CostModel {
 public:
  /// The attention and the experts of the model (ModelWork).
  explicit CostModel(std::vector<AttentionWork> attention, std::vector<ExpertsWork> experts = {})
      : attention_(std::move(attention)), experts_(std::move(experts)) {}

  /// The work of `num_rows` rows of one sequence, the first at position `first_row`; `logits`: rows whose logits are
  /// wanted.
  StepWork work(int first_row, int num_rows, int logits) const;

  /// Milliseconds, at least 0. Before anything was observed: those of the draws.
  double predict_ms(const StepWork& work) const;
  /// `ms`: without its draws. `expert_bytes`: those that the step has read.
  void observe(const StepWork& work, double ms, std::uint64_t expert_bytes = 0);

  /// Bytes of the experts that the rows are foreseen to choose.
  double expert_bytes(const StepWork& work) const { return expert_bytes(work, spread_); }

 private:
  static constexpr std::size_t kNumCosts = 6;
  using Features = std::array<double, kNumCosts>;
  /// Sums of weighted products: the normal equations of least squares. The products are symmetric; each feature's with
  /// those up to it follow each other, so that the first costs alone are what stands in front.
  struct Sums {
    std::array<double, kNumCosts*(kNumCosts + 1) / 2> products = {};
    Features targets = {};
  };
  static constexpr std::size_t kRowBins = 12, kAttentionBins = 4;

  static Features features(const StepWork& work, double expert_bytes);
  static std::size_t bin_of(const StepWork& work);
  double expert_bytes(const StepWork& work, double spread) const;
  void follow_spread(const StepWork& work, double expert_bytes);
  double fitted_ms(const StepWork& work) const;
  /// The prediction with the first kNum costs alone.
  template <std::size_t kNum>
  void fit();
  template <std::size_t kNum>
  void descend(const Sums& sums);

  std::vector<AttentionWork> attention_;
  std::vector<ExpertsWork> experts_;
  double spread_ = 1;  // rows behind the first count as so many that choose by chance
  std::array<Sums, kRowBins * kAttentionBins> bins_ = {};
  Features costs_ = {};  // milliseconds a unit of each feature
  double slowdown_ = 1;  // the machine of the last steps against the fit: 2 is half as fast
  bool observed_ = false;
};

}  // namespace octavo
