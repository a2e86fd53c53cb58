#include "engine/drafts/drafter.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {
namespace {

// Chances before anything is known of an answer: about those of code, quotations and stories.
constexpr std::array<float, 8> kFirstChances = {0.25F, 0.4F, 0.55F, 0.7F, 0.85F, 0.92F, 0.95F, 0.97F};
constexpr float kFirstWeight = 2;  // how many guesses these count as
constexpr float kKept = 0.94F;     // the weight that older guesses keep at each new one
constexpr int kStartLength = 12;   // an answer that has just begun counts as having followed its prediction so far

}  // namespace

void Drafter::begin(std::size_t prompt_tokens, std::size_t most_tokens, std::span<const TokenId> predicted) {
  own_.clear(most_tokens);
  predicted_ = predicted;
  is_following_ = !predicted.empty();
  predicted_at_ = left_at_ = 0;
  predicted_length_ = kStartLength;
  num_seen_ = prompt_tokens;
  source_ = Source::kNone;
  length_ = 0;
  records_ = records_of_head_ = {};
  of_head_ = {};
  candidates_.clear();
  num_candidate_tokens_ = prompt_tokens - std::min(prompt_tokens, kCandidateTokens);
}

void Drafter::propose(std::span<const TokenId> text, int most, const SaidTexts::Found& said, Draft& draft) {
  draft.clear();
  source_ = Source::kNone;
  own_.follow(text, kMostFollowed);
  if (!predicted_.empty()) follow_prediction(text);
  num_seen_ = text.size();
  if (most <= 0) return;
  const NgramIndex::Match own = own_.find(text, text);
  if (is_following_ && predicted_length_ >= std::max(own.length, said.length)) {
    fill(Source::kPrediction, predicted_, {.at = predicted_at_, .length = predicted_length_}, most, draft);
  } else if (own.length >= said.length && own.at >= 0) {
    fill(Source::kOwn, text, own, most, draft);
  } else if (said.length > 0) {
    fill(Source::kSaid, said.next, {.at = 0, .length = said.length}, most, draft);
  }
}

/// Follows the prediction, or finds back to it. Where the answer says something else, that may stand for one token of
/// the prediction.
void Drafter::follow_prediction(std::span<const TokenId> text) {
  const auto is_within = [this] { return to_size(predicted_at_) < predicted_.size(); };
  bool is_right = true;
  for (std::size_t i = num_seen_; i < text.size(); ++i, ++predicted_at_) {
    if (is_within() && predicted_[to_size(predicted_at_)] == text[i]) {
      predicted_length_ = std::min(predicted_length_ + 1, NgramIndex::kMostCompared);
      is_right = true;
    } else {
      if (predicted_length_ > 1) left_at_ = predicted_at_;
      predicted_length_ = 1;
      is_right = false;
    }
  }
  if (!is_right) find_prediction(text);
  is_following_ = is_within();
}

/// Finds the longest match around the place where the answer left the prediction; of equal ones, the nearest behind it.
void Drafter::find_prediction(std::span<const TokenId> text) {
  const int first = std::max(1, left_at_ - kSearchedBefore);
  const int end = std::min(static_cast<int>(predicted_.size()), left_at_ + kSearchedBehind);
  NgramIndex::Match best{.at = -1, .length = NgramIndex::kLengths.back() - 1};
  const auto look_at = [&](int at) {
    if (predicted_[to_size(at) - 1] != text.back()) return;
    const int length = NgramIndex::common_end(predicted_.first(to_size(at)), text);
    if (length > best.length) best = {.at = at, .length = length};
  };
  for (int at = std::max(1, left_at_); at < end; ++at) look_at(at);
  for (int at = std::min(end, left_at_) - 1; at >= first; --at) look_at(at);
  if (best.at < 0) return;
  predicted_at_ = best.at;
  predicted_length_ = best.length;
}

/// Fills a draft from `text`. Where the answer's own text ends, the draft itself goes on, as if the answer repeats it.
void Drafter::fill(Source source, std::span<const TokenId> text, NgramIndex::Match match, int most, Draft& draft) {
  source_ = source;
  length_ = match.length;
  const int left = static_cast<int>(text.size()) - match.at;
  float all_chance = 1;
  for (int i = 0; i < most && (source == Source::kOwn || i < left); ++i) {
    const TokenId next = i < left ? text[to_size(match.at + i)] : draft.tokens[to_size(i - left)];
    if (next == SaidTexts::kBreak) return;
    all_chance *= chance(match.length + i);
    draft.add(next, all_chance);
  }
}

std::size_t Drafter::class_of(int length) {
  constexpr std::array<int, kNumClasses - 1> kEnds = {4, 6, 8, 12, 16, 24, 32};
  return to_size(std::ranges::upper_bound(kEnds, length) - kEnds.begin());
}

float Drafter::chance(int length) const {
  const std::size_t i = class_of(length);
  return records_[i].chance(kFirstChances[i]);
}

float Drafter::Record::chance(float first) const { return (kFirstWeight * first + drawn) / (kFirstWeight + tried); }

void Drafter::Record::add(bool was_drawn) {
  drawn = kKept * drawn + (was_drawn ? 1 : 0);
  tried = kKept * tried + 1;
}

int Drafter::num_wanted_of_head(std::span<const TokenId> text, int most, const Draft& draft) {
  candidates_.reserve(kMostCandidates);
  add_candidates(text);
  float expected = 0, chance = 1;
  for (int i = 0; i < most; ++i) expected += chance *= head_chance();
  return expected > draft.num_expected() ? most : 0;
}

void Drafter::add_candidates(std::span<const TokenId> text) {
  for (; num_candidate_tokens_ < text.size(); ++num_candidate_tokens_) {
    const TokenId token = text[num_candidate_tokens_];
    if (token < kCommonTokens || candidates_.size() == kMostCandidates) continue;
    const auto place = std::ranges::lower_bound(candidates_, token);
    if (place == candidates_.end() || *place != token) candidates_.insert(place, token);
  }
}

void Drafter::weigh(std::span<const GuessedToken> guesses, Draft& draft) {
  float all_chance = 1;
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    const float given = static_cast<float>(guesses[i].chance) / GuessedToken::kSure;
    classes_[i] = static_cast<std::uint8_t>(
        std::min(to_size(guesses[i].chance) * kNumClasses / GuessedToken::kSure, kNumClasses - 1));
    all_chance *= records_of_head_[classes_[i]].chance(given);
    draft.add(guesses[i].token, all_chance);
  }
}

void Drafter::accepted(int num_drawn, bool is_wrong) {
  for (int i = 0; i < num_drawn + (is_wrong ? 1 : 0); ++i) {
    const bool is_head = source_ == Source::kHead;
    (is_head ? records_of_head_[classes_[to_size(i)]] : records_[class_of(length_ + i)]).add(i < num_drawn);
    if (is_head) of_head_.add(i < num_drawn);
  }
}

}  // namespace octavo
