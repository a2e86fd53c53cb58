#include "sampler/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kPiece = 256;  // the logits of a piece, whose maximum says whether to look at them
constexpr float kLowest = -std::numeric_limits<float>::max();

// Distances, in nats, within which a cut first looks for its last token: most cuts end within a few, and only what was
// looked at is sorted.
constexpr std::array kReach = {2.0F, 5.0F, 10.0F, 20.0F, std::numeric_limits<float>::infinity()};

}  // namespace

CandidateScratch::CandidateScratch(int vocab_size, Math given) : math(given) {
  OCTAVO_CHECK(vocab_size >= 1, "vocabulary of {}", vocab_size);
  const auto size = to_size(vocab_size);
  piece_max.resize(2 * ((size + kPiece - 1) / kPiece));  // the maxima, and a copy to find the k-th in
  weights.resize(size);
  logits.resize(size);
  ids.resize(size);
  ordered.reserve(size);
  chunk_sums.resize((size + kSumChunk - 1) / kSumChunk);
}

Candidates::Candidates(std::span<const float> row, CandidateScratch& scratch) : row_(row), scratch_(scratch) {
  std::size_t piece = 0;
  for (std::size_t begin = 0; begin < row.size(); begin += kPiece)
    scratch.piece_max[piece++] = max_logit(row.subspan(begin, std::min(kPiece, row.size() - begin)));
  row_max_ = max_ =
      *std::max_element(scratch.piece_max.begin(), scratch.piece_max.begin() + static_cast<std::ptrdiff_t>(piece));
}

std::span<const float> Candidates::logits() const {
  return is_row_ ? row_ : std::span<const float>(scratch_.logits).first(count_);
}

TokenId Candidates::most_likely() const {
  const std::span<const float> all = logits();
  std::size_t i = 0;
  if (is_row_) i = kPiece * to_size(std::ranges::find(scratch_.piece_max, max_) - scratch_.piece_max.begin());
  while (finite_logit(all[i]) != max_) ++i;
  return id(i);
}

void Candidates::weigh() {
  if (is_weighed_) return;
  const std::span<float> weights = std::span(scratch_.weights).first(size());
  softmax_weights(logits(), max_, temperature_, weights);
  total_ = sum_chunks(weights, {});
  is_weighed_ = true;
  if (is_row_ && temperature_ == 1) row_total_ = total_;
}

double Candidates::log_total() const {
  return row_max_ + scratch_.math.log(row_total_ > 0 ? row_total_ : softmax_total(row_, row_max_));
}

/// The entropy of the tokens that are left, in nats.
double Candidates::entropy() {
  weigh();
  const double sum =
      sum_weighted(std::span<const float>(scratch_.weights).first(size()), logits(), max_) / temperature_;
  return scratch_.math.log(total_) - sum / total_;
}

/// Makes the list of the row's tokens whose logits are at least `least`.
void Candidates::gather(float least) {
  const float* from = row_.data();
  TokenId* ids = scratch_.ids.data();
  float* logits = scratch_.logits.data();
  std::size_t count = 0;
  for (std::size_t begin = 0, piece = 0; begin < row_.size(); begin += kPiece, ++piece) {
    if (scratch_.piece_max[piece] < least) continue;
    const std::size_t end = std::min(begin + kPiece, row_.size());
    for (std::size_t i = begin; i < end; ++i) {  // no branch: it would be mispredicted
      const float here = finite_logit(from[i]);
      ids[count] = static_cast<TokenId>(i);
      logits[count] = here;
      count += here >= least ? 1 : 0;
    }
  }
  count_ = count;
  is_row_ = false;
  is_weighed_ = false;
}

/// Keeps the candidates i for which keep(i) holds.
template <class Keep>
void Candidates::filter(const Keep& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!keep(i)) continue;
    scratch_.ids[kept] = scratch_.ids[i];
    scratch_.logits[kept++] = scratch_.logits[i];
  }
  if (kept == count_) return;
  count_ = kept;
  is_weighed_ = false;
}

void Candidates::keep_down_to(const Candidate& last) {
  if (is_row_) gather(last.logit);
  filter([&](std::size_t i) { return !more_likely(last, {scratch_.logits[i], scratch_.ids[i], 0}); });
}

/// Fills scratch_.ordered with the candidates whose logits are at least `least`, in no order.
void Candidates::collect(float least) {
  scratch_.ordered.clear();
  for (std::size_t begin = 0, piece = 0; begin < size(); begin += kPiece, ++piece) {
    if (is_row_ && scratch_.piece_max[piece] < least) continue;
    const std::size_t end = std::min(begin + kPiece, size());
    for (std::size_t i = begin; i < end; ++i)
      if (logit(i) >= least) scratch_.ordered.push_back(candidate(i));
  }
}

/// Fills scratch_.ordered with the k most likely candidates and perhaps others, in no order.
void Candidates::collect_top(int k) {
  float bound = kLowest;
  const std::size_t num_pieces = (row_.size() + kPiece - 1) / kPiece;
  if (is_row_ && to_size(k) <= num_pieces) {
    // At least k tokens reach the k-th largest maximum, so the k-th token reaches it, too.
    const auto copy = scratch_.piece_max.begin() + static_cast<std::ptrdiff_t>(num_pieces);
    std::copy_n(scratch_.piece_max.begin(), num_pieces, copy);
    std::nth_element(copy, copy + k - 1, copy + static_cast<std::ptrdiff_t>(num_pieces), std::greater<>());
    bound = copy[k - 1];
  }
  collect(bound);
}

void Candidates::keep_top_k(int k) {
  if (k == 0 || to_size(k) >= size()) return;
  collect_top(k);
  const auto last = scratch_.ordered.begin() + k - 1;
  std::nth_element(scratch_.ordered.begin(), last, scratch_.ordered.end(), MoreLikely());
  keep_down_to(*last);
}

/// The last one of the smallest set of the most likely candidates whose weights sum to at least `target`.
Candidates::Candidate Candidates::last_of_mass(double target) {
  for (const float reach : kReach) {
    const float least = std::isinf(reach) ? kLowest : max_ - reach * temperature_;
    collect(least);
    double mass = 0;
    for (const Candidate& here : scratch_.ordered) mass += here.weight;
    if (mass >= target) break;
  }
  return last_of_mass(scratch_.ordered, target);  // the last reach includes all candidates
}

/// The last of some candidates that make up `target`. Their order changes: halves that need no order are summed as they
/// are. The C++ library leaves them in an order of its own, so portable sums sort all of them.
Candidates::Candidate Candidates::last_of_mass(std::span<Candidate> candidates, double target) const {
  constexpr std::size_t kFew = 32;
  double before = 0;  // the mass of the candidates in front of `candidates`
  while (!scratch_.math.is_portable() && candidates.size() > kFew) {
    const std::size_t half = candidates.size() / 2;
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(half), candidates.end(),
                     MoreLikely());
    double mass = 0;
    for (const Candidate& here : candidates.first(half)) mass += here.weight;
    if (before + mass >= target) {
      candidates = candidates.first(half);
    } else {
      before += mass;
      candidates = candidates.subspan(half);
    }
  }
  std::sort(candidates.begin(), candidates.end(), MoreLikely());
  for (const Candidate& here : candidates) {
    before += here.weight;
    if (before >= target) return here;
  }
  return candidates.back();  // rounding put the target past the last token
}

void Candidates::keep_top_p(float p) {
  if (p >= 1) return;
  weigh();
  keep_down_to(last_of_mass(static_cast<double>(p) * total_));
}

void Candidates::keep_min_p(float p) {
  if (p <= 0) return;
  if (is_row_) gather(max_ + temperature_ * (scratch_.math.log(p) - 1e-3F));  // a little more than what will be kept
  weigh();
  filter([&](std::size_t i) { return scratch_.weights[i] >= p; });
}

// Top-n-sigma (Tang et al., "Top-n-sigma: Not All Logits Are You Need", 2024). Forbidden tokens are not counted.
void Candidates::keep_within_sigma(float n) {
  if (n <= 0 || size() == 1) return;
  const LogitSpread spread = logit_spread(logits(), max_);
  if (spread.count == 0) return;
  const double mean = spread.sum / spread.count;
  const double variance = std::max(0.0, spread.squares / spread.count - mean * mean);
  const auto least = static_cast<float>(max_ - static_cast<double>(n) * std::sqrt(variance));
  if (is_row_) return gather(std::min(least, max_));
  filter([&](std::size_t i) { return scratch_.logits[i] >= std::min(least, max_); });
}

void Candidates::keep_typical(float p) {
  if (p >= 1) return;
  const double typical = entropy();
  if (is_row_) gather(kLowest);
  weigh();
  const double log_total = scratch_.math.log(total_), target = static_cast<double>(p) * total_;
  // The distance of a token's surprise from the entropy takes the place of its logit: the nearest come first.
  const auto nearness = [&](std::size_t i) {
    const double surprise = log_total - (scratch_.logits[i] - max_) / temperature_;
    return static_cast<float>(-std::abs(surprise - typical));
  };
  for (const float reach : kReach) {
    scratch_.ordered.clear();
    double mass = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const float near = nearness(i);
      if (near < -reach) continue;
      scratch_.ordered.push_back({near, static_cast<TokenId>(i), scratch_.weights[i]});
      mass += scratch_.weights[i];
    }
    if (mass >= target || std::isinf(reach)) break;
  }
  const Candidate last = last_of_mass(scratch_.ordered, target);
  // The ids in `ordered` are indexes into the list, whose order is that of the token ids.
  float max = kLowest;
  const auto is_kept = [&](std::size_t i) { return !more_likely(last, {nearness(i), static_cast<TokenId>(i), 0}); };
  for (std::size_t i = 0; i < count_; ++i)
    if (is_kept(i)) max = std::max(max, scratch_.logits[i]);
  filter(is_kept);
  max_ = max;
}

void Candidates::exclude_top(float threshold) {
  weigh();
  const double least_weight = static_cast<double>(threshold) * total_;
  std::size_t num_above = 0;
  Candidate least{};
  for (std::size_t i = 0; i < size(); ++i) {
    if (!(scratch_.weights[i] >= least_weight)) continue;
    const Candidate here = candidate(i);
    if (num_above++ == 0 || more_likely(least, here)) least = here;
  }
  if (num_above < 2) return;
  if (is_row_) gather(kLowest);
  filter([&](std::size_t i) { return !more_likely({scratch_.logits[i], scratch_.ids[i], 0}, least); });
  max_ = least.logit;
}

void Candidates::keep_surprise(float most_bits) {
  weigh();
  const double least_weight = total_ * scratch_.math.exp2(-static_cast<double>(most_bits));
  const TokenId best = most_likely();
  if (is_row_) {
    gather(least_weight > 1 ? max_
                            : max_ + temperature_ * (static_cast<float>(scratch_.math.log(least_weight)) - 1e-3F));
    weigh();
  }
  filter([&](std::size_t i) { return scratch_.weights[i] >= least_weight || scratch_.ids[i] == best; });
}

/// The exponent of Zipf's law, fitted by least squares to the likeliest tokens: log(p_i / p_(i+1)) is the exponent
/// times log((i+1) / i). 0: there are too few tokens to fit it to.
double Candidates::zipf_exponent() {
  constexpr std::size_t kFitted = 100;  // the number that the paper and llama.cpp use
  weigh();
  const std::size_t most = std::min(kFitted, size());
  collect_top(static_cast<int>(most));
  const std::span<Candidate> fitted = std::span(scratch_.ordered).first(most);
  std::partial_sort(scratch_.ordered.begin(), scratch_.ordered.begin() + static_cast<std::ptrdiff_t>(most),
                    scratch_.ordered.end(), MoreLikely());
  double products = 0, squares = 0;
  for (std::size_t i = 0; i + 1 < most && fitted[i + 1].weight > 0; ++i) {
    const double ranks = scratch_.math.log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    products += ranks * (double{fitted[i].logit} - double{fitted[i + 1].logit}) / temperature_;
    squares += ranks * ranks;
  }
  return squares > 0 ? products / squares : 0;
}

// Keeps k tokens, where k is the rank that has the surprise under a law of exponent s: ((s - 1) 2^bits /
// (1 - n^(1 - s))) to the power of 1 / s. Tokens that are never drawn do not count among the n.
void Candidates::keep_zipfian(float most_bits) {
  const double exponent = zipf_exponent();
  if (exponent <= 0) return;  // all are equally likely, or there is only one
  const auto weights = std::span<const float>(scratch_.weights).first(size());
  const auto count = static_cast<double>(std::ranges::count_if(weights, [](float weight) { return weight > 0; }));
  const double excess = exponent - 1;
  const double scale =
      std::abs(excess) < 1e-9 ? 1 / scratch_.math.log(count) : excess / (1 - scratch_.math.pow(count, -excess));
  const double k = scratch_.math.pow(scale * scratch_.math.exp2(static_cast<double>(most_bits)), 1 / exponent);
  keep_top_k(static_cast<int>(std::clamp(k, 1.0, static_cast<double>(size()))));
}

void Candidates::apply_temperature(float temperature) {
  if (temperature == 1) return;
  temperature_ *= temperature;
  is_weighed_ = false;
}

void Candidates::apply_temperature(float temperature, const DynamicTemperature& dynamic) {
  if (dynamic.range <= 0) return apply_temperature(temperature);
  if (size() == 1) return;
  const float low = std::max(0.0F, temperature - dynamic.range), high = temperature + dynamic.range;
  const double share = std::max(0.0, entropy()) / scratch_.math.log(static_cast<double>(size()));
  const auto between = static_cast<float>(scratch_.math.pow(share, static_cast<double>(dynamic.exponent)));
  apply_temperature(std::max(low + (high - low) * between, 1e-6F));
}

TokenId Candidates::draw(double u) {
  weigh();
  const std::span<const float> weights = std::span<const float>(scratch_.weights).first(size());
  const std::size_t num_chunks = (weights.size() + kSumChunk - 1) / kSumChunk;
  const std::span<double> chunks = std::span(scratch_.chunk_sums).first(num_chunks);
  const double target = u * sum_chunks(weights, chunks);
  double sum = 0;
  std::size_t chosen = 0;
  double before = 0;  // the sum of the chunks before the chosen one
  for (std::size_t chunk = 0; chunk < num_chunks && sum <= target; ++chunk) {
    if (chunks[chunk] == 0) continue;
    chosen = chunk;
    before = sum;
    sum += chunks[chunk];
  }
  std::size_t index = chosen * kSumChunk;
  const std::size_t end = std::min(index + kSumChunk, weights.size());
  // Sums of parts differ from the whole in the last bits: if so, the chunk's last element that has a weight is drawn.
  for (std::size_t i = index; i < end && before <= target; ++i) {
    if (weights[i] == 0) continue;
    index = i;
    before += weights[i];
  }
  return id(index);
}

double Candidates::surprise(TokenId token) {
  weigh();
  const std::span<const TokenId> ids = std::span<const TokenId>(scratch_.ids).first(count_);
  const std::size_t i = is_row_ ? to_size(token) : to_size(std::ranges::lower_bound(ids, token) - ids.begin());
  return -scratch_.math.log2(std::max<double>(scratch_.weights[i], std::numeric_limits<float>::min()) / total_);
}

}  // namespace octavo
