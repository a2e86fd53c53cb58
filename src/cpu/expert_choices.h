// The experts that rows have chosen, by row and by expert: whose weights meet which rows.
//
// Integers and weights only, no matrix. Owned by ExpertsFfn; one step uses it at a time. Nothing allocates after
// construction.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/to_size.h"
#include "model/layer_spec.h"

namespace octavo {

class ExpertChoices {
 public:
  /// The rows that chose one expert: slots first .. first + count, in the order of the rows.
  struct Group {
    int expert, first, count;
  };

  ExpertChoices(int max_rows, int max_experts, int max_chosen);

  /// New rows, which have chosen nothing yet.
  void begin(int rows, const ExpertsFfnSpec& spec);
  /// Row `row` chooses experts by its scores, [num_experts], as the spec's router does; of equal ones the lower index.
  /// `bias`: the router's choice_bias; null: none. Threads may call it for different rows. Where a score is not finite,
  /// neither are the row's weights. The scores are scratch then.
  void choose(std::int64_t row, std::span<float> scores, const float* bias = nullptr);
  /// Once all rows have chosen: gives every choice its slot.
  void group();

  int num_rows() const { return num_rows_; }
  int num_chosen() const { return num_chosen_; }
  /// A row's choices by rank: 0 is the best one.
  int expert(std::int64_t row, int rank) const { return experts_[place(row, rank)]; }
  float weight(std::int64_t row, int rank) const { return weights_[place(row, rank)]; }
  bool is_finite(std::int64_t row) const { return std::isfinite(weight(row, 0)); }
  /// The groups that group() made.
  int slot(std::int64_t row, int rank) const { return slots_[place(row, rank)]; }
  const Group& group_of(std::int64_t row, int rank) const {
    return groups_[to_size(group_of_expert_[to_size(expert(row, rank))])];
  }
  /// The experts that some row chose, ascending, each with its rows.
  std::span<const Group> groups() const { return groups_; }

 private:
  template <class Value>
  bool rank(std::int64_t row, const Value& value);
  void share(std::span<const float> scores, std::span<float> weights) const;
  void make_probabilities(std::span<float> scores) const;
  template <class Worth>
  std::uint64_t best_groups(const Worth& worth) const;
  void weigh(std::span<float> weights) const;
  std::size_t place(std::int64_t row, int rank) const { return to_size(row * num_chosen_ + rank); }

  int num_rows_ = 0, num_experts_ = 0, num_chosen_ = 0;
  RouterSpec router_ = {};
  std::vector<std::int32_t> experts_;          // [rows][chosen]
  std::vector<float> weights_;                 // [rows][chosen]
  std::vector<std::int32_t> slots_;            // [rows][chosen]
  std::vector<std::int32_t> counts_;           // [experts] rows; later the next slot
  std::vector<std::int32_t> group_of_expert_;  // [experts] of those that somebody chose
  std::vector<Group> groups_;
};

}  // namespace octavo
