// The time of a step, predicted from counts by a model that is fitted to timed steps.
//
// The time is a sum of non-negative costs: of a step, of each row, of each row of logits, of each byte of keys and
// values read, of each multiply-add of attention, and of each byte of the experts that rows choose. These bytes are
// known only after the step; before it they are predicted as if rows chose by chance; rows that choose alike count as
// fewer, by a factor that follows what steps have read. Timed steps are kept in bins by the number of rows and the
// share of attention; a bin forgets only its own old steps. So a long run of decode steps does not wash out the cost of
// a prompt's chunk, of which it says nothing. One factor on top of the fit follows the last steps quickly: a machine
// that others use as well is slower in everything at once. Another number of threads is no such factor, since what is
// bound by memory hardly changes: older steps then count little. Draws are not in the fit: their cost is measured
// separately, as it depends on the samplers of a request (Sequence::draw_ms).
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
  double kv_bytes = 0;        // keys and values read in all layers, once for each sequence
  double attention_macs = 0;  // multiply-adds of rows with the tokens that they see, in all layers
  double draw_ms = 0;         // of draws and their events, as the last ones took

  StepWork& operator+=(const StepWork& other);
  friend StepWork operator+(StepWork a, const StepWork& b) { return a += b; }
};

class CostModel {
 public:
  /// The attention and the experts of the model (ModelWork).
  explicit CostModel(std::vector<AttentionWork> attention, std::vector<ExpertsWork> experts = {})
      : attention_(std::move(attention)), experts_(std::move(experts)) {}

  /// The work of `num_rows` rows of one sequence, the first at position `first_row`; `logits`: how many of their logits
  /// are wanted.
  StepWork work(int first_row, int num_rows, int logits) const;

  /// The predicted milliseconds, at least 0. Before anything was observed: those of the draws alone.
  double predict_ms(const StepWork& work) const;
  /// Learns from a step. `ms`: its time without draws. `expert_bytes`: the bytes of experts that it read.
  void observe(const StepWork& work, double ms, std::uint64_t expert_bytes = 0);

  /// Steps have another number of threads from now on.
  void change_threads();

  /// The bytes of the experts that the rows are expected to choose.
  double expert_bytes(const StepWork& work) const { return expert_bytes(work, spread_); }

 private:
  static constexpr std::size_t kNumCosts = 6;
  using Features = std::array<double, kNumCosts>;
  /// Sums of weighted products for the normal equations of least squares. Products are symmetric: each feature has
  /// those with features up to itself, one after another, so that the sums for the first costs alone come first.
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
  /// Fits the first kNum costs alone.
  template <std::size_t kNum>
  void fit();
  template <std::size_t kNum>
  void descend(const Sums& sums);

  std::vector<AttentionWork> attention_;
  std::vector<ExpertsWork> experts_;
  double spread_ = 1;  // each row after the first counts as so many that choose by chance
  std::array<Sums, kRowBins * kAttentionBins> bins_ = {};
  Features costs_ = {};  // milliseconds for a unit of each feature
  double slowdown_ = 1;  // how much slower the last steps were than the fit: 2 is half as fast
  bool observed_ = false;
};

}  // namespace octavo
