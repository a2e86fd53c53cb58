#include "engine/drive/head_drafts.h"

#include <algorithm>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/drive/batch_builder.h"

namespace octavo {
namespace {

constexpr double kFollow = 0.2;  // the weight of the newest time in the head's average

/// Whether the sequence decodes with its last token alone uncomputed, and its drafter wants guesses.
bool wants_guesses(const Sequence& sequence) {
  return sequence.draft.num_wanted > 0 && !sequence.is_catching_up() && sequence.num_uncomputed() == 1;
}

/// The sampling settings that its guesses are drawn with, too. Cuts that Mirostat or another order disables are off
/// here, and what else changes a draw is not known here: guesses may be wrong.
GuessDraw draw_of(const SamplingParams& params) {
  GuessDraw draw{.seed = params.seed, .temperature = params.temperature};
  if (params.temperature == 0 || params.mirostat.version != 0) return draw;
  const auto has = [&](SamplerStep step) {
    return params.order.empty() || std::ranges::find(params.order, step) != params.order.end();
  };
  if (!has(SamplerStep::kTemperature)) draw.temperature = 1;
  if (has(SamplerStep::kTopK)) draw.top_k = params.top_k;
  if (has(SamplerStep::kTopP)) draw.top_p = params.top_p;
  if (has(SamplerStep::kMinP)) draw.min_p = params.min_p;
  return draw;
}

}  // namespace

HeadDrafts::HeadDrafts(const StepParts& parts) : parts_(parts) {
  if (parts.runner.info().has_draft_head) parts.plan.reserve_guesses();
}

/// Whether the runner has the hidden row that an assistant begins with.
bool HeadDrafts::has_hidden_row(const Sequence& sequence) const {
  const HiddenRow& hidden = sequence.draft.hidden;
  return !parts_.runner.info().has_assistant ||
         (hidden.batch == parts_.plan.num_batches && hidden.batch > 0 && hidden.row < kMaxLogitRows);
}

bool HeadDrafts::plan() {
  wanting_.clear();
  sequences_.clear();
  if (!parts_.drafting.asks_head()) return false;
  for (Sequence* sequence : parts_.scheduler.running())
    if (wants_guesses(*sequence) && has_hidden_row(*sequence)) wanting_.push_back(sequence);
  if (wanting_.empty()) return false;
  find_price();
  ++num_without_;
  is_try_ = price_.num_decodes == 1 && num_without_ > kPatience;
  GuessBatch& batch = parts_.plan.guesses;
  batch.clear();
  batch.rows.advances.assign(parts_.plan.advances.begin(), parts_.plan.advances.end());
  for (Sequence* sequence : wanting_) {
    if (sequences_.size() == to_size(kMaxLogitRows)) break;
    const int number = num_guesses(*sequence);
    if (number == 0) continue;
    sequences_.push_back(sequence);  // added first: if a later line throws, its blocks are given back, too
    if (reserve(*sequence, number)) {
      sequence->draft.num_wanted = number;
    } else {
      sequences_.pop_back();
    }
  }
  if (sequences_.empty()) return false;
  num_without_ = 0;
  build_guesses(batch, parts_.kv, sequences_, parts_.runner.info().has_assistant);
  add_draws(batch);
  return true;
}

/// Adds the words that guesses may be, and how each sequence's guesses are drawn.
void HeadDrafts::add_draws(GuessBatch& batch) const {
  for (const Sequence* sequence : sequences_) {
    ActiveRequest* request = nullptr;
    const Choice& choice = choice_of(*sequence, request);
    const std::span<const TokenId> candidates = choice.drafter->candidates();
    batch.candidates.insert(batch.candidates.end(), candidates.begin(), candidates.end());
    batch.candidate_begin.push_back(static_cast<std::int32_t>(batch.candidates.size()));
    batch.draws.push_back(draw_of(request->sampling));
    batch.draws.back().choice = request->choice_index(choice);
  }
}

void HeadDrafts::find_price() {
  StepWork work;
  price_ = {};
  const CostModel* cost = parts_.scheduler.cost();
  for (const Sequence* sequence : parts_.scheduler.running()) {
    if (sequence->is_catching_up() || sequence->awaits_choices()) continue;
    ++price_.num_decodes;
    if (cost != nullptr) work += work_to_advance(*cost, *sequence, sequence->num_uncomputed());
  }
  if (cost == nullptr) return;
  work.draw_ms = 0;
  price_.step_ms = cost->predict_ms(work);
  price_.row_ms = cost->predict_ms(work + StepWork{.rows = 1, .logit_rows = 1}) - price_.step_ms;
  price_.guess_ms = guess_ms_ / static_cast<double>(wanting_.size());
}

int GuessPrice::num_paying(int wanted, double chance_of_one) const {
  int number = 0;
  for (double chance = chance_of_one; number < wanted; ++number, chance *= chance_of_one)
    if (chance * step_ms < (row_ms + guess_ms) * num_decodes) break;
  return number;
}

int HeadDrafts::num_guesses(const Sequence& sequence) const {
  const int wanted = sequence.draft.num_wanted;
  const bool is_unknown = parts_.scheduler.cost() != nullptr && price_.step_ms <= 0;
  if (is_unknown) return std::min(wanted, kMostTried);
  ActiveRequest* request = nullptr;
  const int number = price_.num_paying(wanted, double{choice_of(sequence, request).drafter->head_chance()});
  return is_try_ ? std::max(number, std::min(wanted, kMostTried)) : number;
}

/// Reserves blocks for guesses. False: no free blocks without contents are left. An assistant needs none.
bool HeadDrafts::reserve(const Sequence& sequence, int num_guesses) {
  if (parts_.runner.info().has_assistant) return true;
  KvCacheManager& kv = parts_.kv;
  const int first = sequence.num_computed, end = first + num_guesses;
  for (int pool = 0; pool < kv.num_pools(); ++pool)
    if (kv.blocks_needed(sequence.kv, pool, first, end) > kv.pool(pool).stats().free) return false;
  return kv.reserve(sequence.kv, first, end, parts_.plan.guesses.rows.copies).has_value();
}

void HeadDrafts::take(std::span<const GuessedToken> guesses, double ms) {
  int longest = 1;
  for (Sequence* sequence : sequences_) {
    const int number = sequence->draft.num_wanted;
    longest = std::max(longest, number);
    ActiveRequest* request = nullptr;
    Choice& choice = choice_of(*sequence, request);
    parts_.drafting.take_guesses(*request, choice, guesses.first(to_size(number)));
    guesses = guesses.subspan(to_size(number));
  }
  const double of_one = ms / longest;
  guess_ms_ = guess_ms_ == 0 ? of_one : (1 - kFollow) * guess_ms_ + kFollow * of_one;
}

void HeadDrafts::give_back() {
  for (const Sequence* sequence : sequences_) {
    const Result<void> cut = parts_.kv.truncate(sequence->kv, sequence->num_computed);
    OCTAVO_CHECK(cut.has_value(), "sequence {}: {}", sequence->params.id, cut.error().message);
  }
}

Choice& HeadDrafts::choice_of(const Sequence& sequence, ActiveRequest*& request) const {
  request = parts_.requests.find(sequence.params.id);
  OCTAVO_CHECK(request != nullptr, "sequence {}", sequence.params.id);
  return *request->choices[to_size(sequence.params.choice)];
}

}  // namespace octavo
