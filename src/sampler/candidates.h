// The tokens of a row that may still be drawn. Each cut leaves fewer, a temperature changes how likely each one is.
//
// Before the first cut the row itself is the list. The first cut gathers the tokens that are left, in order of ids;
// it finds them by the maxima of pieces of the row, so that only vector code looks at the bulk of a vocabulary, far
// below the best token. "More likely" is the higher logit, then the lower id. Probabilities are those among the tokens
// that are left, at the temperatures so far. Logits count as finite_logit() says.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/math.h"
#include "octavo/sampling.h"
#include "sampler/softmax.h"

namespace octavo {

/// Memory for rows of up to `vocab_size` logits; nothing is allocated after construction.
class CandidateScratch {
 public:
  explicit CandidateScratch(int vocab_size, Math math = Math());

 private:
  friend class Candidates;
  struct Candidate {
    float logit;
    TokenId id;
    float weight;
  };
  Math math;
  std::vector<float> piece_max;    // [pieces] the maxima of the row's pieces
  std::vector<float> weights;      // [vocab_size] softmax numerators of the tokens that are left
  std::vector<float> logits;       // [vocab_size] the logits that are left, once something is cut
  std::vector<TokenId> ids;        // [vocab_size]
  std::vector<Candidate> ordered;  // room for the part that a cut must sort
  std::vector<double> chunk_sums;  // [vocab_size / kSumChunk, rounded up]
};

class Candidates {
 public:
  /// The candidates of a row that is not empty, which must stay as it is.
  Candidates(std::span<const float> row, CandidateScratch& scratch);

  std::size_t size() const { return is_row_ ? row_.size() : count_; }
  TokenId most_likely() const;

  void keep_top_k(int k);               // 0: all tokens stay
  void keep_top_p(float p);             // 1: all tokens stay
  void keep_min_p(float p);             // 0: all tokens stay
  void keep_within_sigma(float n);      // 0: all tokens stay
  void keep_typical(float p);           // 1: all tokens stay
  void exclude_top(float threshold);    // the cut of XTC
  void keep_surprise(float most_bits);  // at least the most likely token is kept
  void keep_zipfian(float most_bits);   // as many of the most likely tokens as Mirostat 1 keeps
  void apply_temperature(float temperature);
  void apply_temperature(float temperature, const DynamicTemperature& dynamic);

  /// Inverts the cumulative sum of probabilities, in the order of ids, at u in [0, 1). A token of probability 0 is
  /// never drawn beside another one.
  TokenId draw(double u);
  /// The surprise in bits of a token that is left.
  double surprise(TokenId token);

  /// The log of the sum of exp(logit) over the row.
  double log_total() const;

 private:
  using Candidate = CandidateScratch::Candidate;

  static bool more_likely(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  }
  struct MoreLikely {  // a type, so that sorting has the comparison in its loop
    bool operator()(const Candidate& a, const Candidate& b) const { return more_likely(a, b); }
  };
  TokenId id(std::size_t i) const { return is_row_ ? static_cast<TokenId>(i) : scratch_.ids[i]; }
  float logit(std::size_t i) const { return is_row_ ? finite_logit(row_[i]) : scratch_.logits[i]; }
  Candidate candidate(std::size_t i) const { return {logit(i), id(i), scratch_.weights[i]}; }
  std::span<const float> logits() const;
  void weigh();
  double entropy();
  void gather(float least);
  template <class Keep>
  void filter(const Keep& keep);
  void keep_down_to(const Candidate& last);
  void collect(float least);
  void collect_top(int k);
  double zipf_exponent();
  Candidate last_of_mass(double target);
  Candidate last_of_mass(std::span<Candidate> candidates, double target) const;

  std::span<const float> row_;
  CandidateScratch& scratch_;
  float max_;  // the largest logit that is left
  float row_max_;
  float temperature_ = 1;  // the product of all temperatures so far
  bool is_row_ = true;     // whether nothing is cut yet
  std::size_t count_ = 0;  // the length of the list, once there is one
  bool is_weighed_ = false;
  double total_ = 0;      // the sum of the weights, where is_weighed_
  double row_total_ = 0;  // the sum of the row's weights at temperature 1; 0: not known yet
};

}  // namespace octavo
