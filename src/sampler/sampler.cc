#include "sampler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/to_size.h"
#include "sampler/softmax.h"
#include "sampler/top_tokens.h"

namespace octavo {
namespace {

// Histogram of the distance to the largest logit, in nats. Fine enough that the one bucket a cut falls into, which
// alone is sorted, holds few tokens; the last bucket holds everything further away.
constexpr float kBucketsPerNat = 64;
constexpr int kNumBuckets = 4096;

std::size_t bucket_of(float max, float logit) {
  return static_cast<std::size_t>(std::min((max - logit) * kBucketsPerNat, static_cast<float>(kNumBuckets - 1)));
}

Result<void> check_penalty(std::string_view field, float penalty) {
  if (penalty >= -2 && penalty <= 2) return {};
  return fail("{}: found {}, expected -2 to 2", field, penalty);
}

// The log of the sum of exp over all of a row, padding included, given what that is without the padding.
double log_total_with(std::span<const float> padding, double log_total) {
  if (padding.empty()) return log_total;
  const float max = max_logit(padding);
  const double log_padding = max + std::log(softmax_total(padding, max));
  const double larger = std::max(log_total, log_padding);
  return larger + std::log(std::exp(log_total - larger) + std::exp(log_padding - larger));
}

}  // namespace

Result<void> check_sampling_params(const SamplingParams& params) {
  if (!(std::isfinite(params.temperature) && params.temperature >= 0)) {
    return fail("temperature: found {}, expected a finite number of at least 0", params.temperature);
  }
  if (params.top_k < 0) return fail("top_k: found {}, expected at least 0 (0 keeps all tokens)", params.top_k);
  if (!(params.top_p >= 0 && params.top_p <= 1)) return fail("top_p: found {}, expected 0 to 1", params.top_p);
  if (!(params.min_p >= 0 && params.min_p <= 1)) return fail("min_p: found {}, expected 0 to 1", params.min_p);
  if (!(std::isfinite(params.repetition_penalty) && params.repetition_penalty > 0)) {
    return fail("repetition_penalty: found {}, expected a finite number above 0", params.repetition_penalty);
  }
  OCTAVO_TRY_VOID(check_penalty("frequency_penalty", params.frequency_penalty));
  OCTAVO_TRY_VOID(check_penalty("presence_penalty", params.presence_penalty));
  for (const auto& [token, bias] : params.logit_bias) {
    if (!(bias >= -100 && bias <= 100)) return fail("logit_bias[{}]: found {}, expected -100 to 100", token, bias);
  }
  return {};
}

SamplerScratch::SamplerScratch(int vocab_size) : adjuster(vocab_size) {
  const auto size = to_size(vocab_size);
  weights.resize(size);
  kept_weights.resize(size);
  kept_ids.resize(size);
  boundary.reserve(size);
  histogram.resize(kNumBuckets);
  chunk_sums.resize((size + kSumChunk - 1) / kSumChunk);
}

// One draw: the row, its softmax, and how far down the order of likelihood its tokens are kept.
class RowSampler {
 public:
  RowSampler(std::span<const float> logits, SamplerScratch& scratch)
      : logits_(logits),
        scratch_(scratch),
        weights_(std::span(scratch.weights).first(logits_.size())),
        max_(max_logit(logits_)) {}

  static std::span<const float> adjusted(std::span<const float> logits, const SamplingParams& params,
                                         const DrawContext& context, SamplerScratch& scratch) {
    return scratch.adjuster.adjust(logits, params, context);
  }

  TokenId most_likely() const {
    // Piece by piece, because a maximum is found in vector code and a place is not.
    std::size_t begin = 0;
    while (max_logit(logits_.subspan(begin, std::min(kSumChunk, logits_.size() - begin))) != max_) begin += kSumChunk;
    while (finite_logit(logits_[begin]) != max_) ++begin;
    return static_cast<TokenId>(begin);
  }
  TokenId draw(const SamplingParams& params, double u);
  /// The log of the sum of exp(logit).
  double log_total() const { return max_ + std::log(weighed_ ? total_ : softmax_total(logits_, max_)); }

 private:
  using Candidate = SamplerScratch::Candidate;

  // The order of likelihood: the higher logit, then the lower id.
  static bool more_likely(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  }
  Candidate candidate(std::size_t i) const { return {finite_logit(logits_[i]), static_cast<TokenId>(i)}; }
  bool kept(std::size_t i) const { return !more_likely(last_kept_, candidate(i)); }
  void weigh();
  void cut_top_k(int k);
  void cut_top_p(float p);
  void gather_bucket(std::size_t bucket);
  TokenId draw_weighted(std::span<const float> weights, double u) const;

  std::span<const float> logits_;
  SamplerScratch& scratch_;
  std::span<float> weights_;  // at temperature 1, once weighed
  float max_;
  bool weighed_ = false;
  double total_ = 0;  // of weights_, once weighed
  // A cut is the last token it keeps, so that cuts nest and no list of survivors is needed.
  Candidate last_kept_ = {-std::numeric_limits<float>::infinity(), std::numeric_limits<TokenId>::max()};
};

void RowSampler::weigh() {
  softmax_weights(logits_, max_, 1.0F, weights_);
  total_ = sum_chunks(weights_, {});
  weighed_ = true;
}

// Candidates kept so far that lie in `bucket`, to scratch_.boundary.
void RowSampler::gather_bucket(std::size_t bucket) {
  scratch_.boundary.clear();
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    const Candidate here = candidate(i);
    if (bucket_of(max_, here.logit) == bucket && kept(i)) scratch_.boundary.push_back(here);
  }
}

void RowSampler::cut_top_k(int k) {
  if (k == 0 || to_size(k) >= logits_.size()) return;
  std::ranges::fill(scratch_.histogram, 0.0);
  for (const float logit : logits_) scratch_.histogram[bucket_of(max_, finite_logit(logit))] += 1;
  std::size_t bucket = 0;
  auto missing = static_cast<double>(k);  // of those k, how many lie in `bucket` or after it; exact in a double
  while (scratch_.histogram[bucket] < missing) missing -= scratch_.histogram[bucket++];
  gather_bucket(bucket);
  const auto last = scratch_.boundary.begin() + static_cast<std::ptrdiff_t>(missing) - 1;
  std::ranges::nth_element(scratch_.boundary, last, more_likely);
  last_kept_ = *last;
}

void RowSampler::cut_top_p(float p) {
  if (p >= 1) return;
  std::ranges::fill(scratch_.histogram, 0.0);
  double total = 0;
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (!kept(i)) continue;
    scratch_.histogram[bucket_of(max_, finite_logit(logits_[i]))] += weights_[i];
    total += weights_[i];
  }
  const double target = static_cast<double>(p) * total;
  double sum = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < kNumBuckets && sum + scratch_.histogram[bucket] < target) sum += scratch_.histogram[bucket++];
  gather_bucket(bucket);
  if (scratch_.boundary.empty()) return;  // rounding put the target past the last token: all are kept
  std::ranges::sort(scratch_.boundary, more_likely);
  for (const Candidate& here : scratch_.boundary) {
    last_kept_ = here;
    sum += weights_[to_size(here.id)];
    if (sum >= target) break;
  }
}

// Inverts the cumulative sum of `weights` at u in [0, 1). An element of weight 0 is never drawn.
TokenId RowSampler::draw_weighted(std::span<const float> weights, double u) const {
  const std::size_t num_chunks = (weights.size() + kSumChunk - 1) / kSumChunk;
  const std::span<double> chunks = std::span(scratch_.chunk_sums).first(num_chunks);
  const double target = u * sum_chunks(weights, chunks);
  double sum = 0;
  std::size_t chosen = 0;
  double before = 0;  // sum of the chunks ahead of the chosen one
  for (std::size_t chunk = 0; chunk < num_chunks && sum <= target; ++chunk) {
    if (chunks[chunk] == 0) continue;
    chosen = chunk;
    before = sum;
    sum += chunks[chunk];
  }
  std::size_t index = chosen * kSumChunk;
  const std::size_t end = std::min(index + kSumChunk, weights.size());
  // Sums of parts differ from the whole in the last bits: then it is the chunk's last element that has a weight.
  for (std::size_t i = index; i < end && before <= target; ++i) {
    if (weights[i] == 0) continue;
    index = i;
    before += weights[i];
  }
  return static_cast<TokenId>(index);
}

TokenId RowSampler::draw(const SamplingParams& params, double u) {
  const bool cuts = params.top_k > 0 || params.top_p < 1 || params.min_p > 0;
  if (cuts || params.temperature == 1) weigh();
  cut_top_k(params.top_k);
  cut_top_p(params.top_p);
  const bool all = std::isinf(last_kept_.logit) && params.min_p == 0;
  if (all && params.temperature == 1) return draw_weighted(weights_, u);
  if (all) {
    const std::span<float> weights = std::span(scratch_.kept_weights).first(logits_.size());
    softmax_weights(logits_, max_, params.temperature, weights);
    return draw_weighted(weights, u);
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (weights_[i] < params.min_p || !kept(i)) continue;
    scratch_.kept_ids[count] = static_cast<TokenId>(i);
    scratch_.kept_weights[count++] = logits_[i];
  }
  const std::span<float> weights = std::span(scratch_.kept_weights).first(count);
  softmax_weights(weights, max_, params.temperature, weights);
  return scratch_.kept_ids[to_size(draw_weighted(weights, u))];
}

SampledToken sample(std::span<const float> logits, int num_tokens, const SamplingParams& params, const DrawKey& key,
                    SamplerScratch& scratch, const DrawContext& context, std::span<TokenLogprob> top) {
  OCTAVO_CHECK(num_tokens >= 1 && to_size(num_tokens) <= logits.size(), "{} of {} tokens", num_tokens, logits.size());
  const std::span<const float> row = logits.first(to_size(num_tokens));
  const bool greedy = params.temperature == 0 || params.top_k == 1;
  const auto pick = [&](RowSampler& from) { return greedy ? from.most_likely() : from.draw(params, uniform(key)); };
  RowSampler untouched(row, scratch);
  bool adjusts = LogitAdjuster::changes(params, context);
  if (adjusts && greedy && !LogitAdjuster::changes(params, {})) {
    adjusts = std::ranges::find(context.forbidden, untouched.most_likely()) != context.forbidden.end();
  }
  TokenId token = 0;
  if (adjusts) {
    RowSampler adjusted(RowSampler::adjusted(row, params, context, scratch), scratch);
    token = pick(adjusted);
  } else {
    token = pick(untouched);
  }
  const double log_total = log_total_with(logits.subspan(row.size()), untouched.log_total());
  find_top_tokens(row, log_total, top);
  return {.token = token, .logprob = static_cast<float>(finite_logit(row[to_size(token)]) - log_total)};
}

}  // namespace octavo
