#include "engine/answers/drafting.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kFewestEntries = 1024, kMostEntries = std::size_t{1} << 16;
constexpr std::size_t kEntryBytes = NgramIndex::kLengths.size() * sizeof(std::uint32_t);
constexpr std::size_t kDraftersBytes = Drafting::kMemoryBytes / 2;
constexpr std::size_t kDomainBytes = 2 * SaidTexts::kPartTokens * (kEntryBytes + sizeof(TokenId));

}  // namespace

Drafting::Drafting(const DraftOptions& options, int max_sequences, const ModelTokenizer& words, int num_drawable,
                   bool has_head, EngineStats& counts)
    : options_(options),
      words_(words),
      num_drawable_(num_drawable),
      has_head_(has_head),
      counts_(counts),
      num_entries_(std::clamp(std::bit_floor(kDraftersBytes / kEntryBytes / to_size(max_sequences)), kFewestEntries,
                              kMostEntries)),
      most_drafters_(std::min(to_size(max_sequences), kDraftersBytes / kEntryBytes / num_entries_)),
      said_((kMemoryBytes - kDraftersBytes) / kDomainBytes) {
  if (is_on()) spares_.reserve(most_drafters_);
}

void Drafting::propose(const ActiveRequest& request, Choice& choice) {
  Draft& draft = choice.sequence.draft;
  draft.clear();
  const int most = std::min(options_.max_tokens, request.max_drafts);
  if (!is_on() || most == 0 || !choice.active) return;
  if (choice.drafter == nullptr && !take_drafter(request, choice)) return;
  const int left = choice.sequence.params.max_cached - choice.sequence.num_tokens();
  const std::vector<TokenId>& tokens = choice.sequence.tokens;
  SaidTexts::Found said;
  if (looks_at_earlier_answers()) said = said_.find(request.cache_domain, tokens);
  if (options_.mode != DraftMode::kMtp) choice.drafter->propose(tokens, std::min(most, left), said, draft);
  cut(request, choice, draft);
  if (asks_head()) draft.num_wanted = choice.drafter->num_wanted_of_head(tokens, std::min(most, left), draft);
}

void Drafting::take_guesses(const ActiveRequest& request, Choice& choice, std::span<const GuessedToken> guesses) {
  Draft& draft = choice.sequence.draft;
  draft.num_wanted = 0;
  Draft guessed;
  choice.drafter->weigh(guesses, guessed);
  cut(request, choice, guessed);
  if (guessed.num_expected() <= draft.num_expected()) return;
  draft = guessed;
  choice.drafter->take_guesses();
}

/// Gives the choice a drafter. False: all drafters have answers, or there is no memory for another.
bool Drafting::take_drafter(const ActiveRequest& request, Choice& choice) {
  if (!spares_.empty()) {
    choice.drafter = std::move(spares_.back());
    spares_.pop_back();
  } else if (num_drafters_ < most_drafters_) {
    try {
      choice.drafter = std::make_unique<Drafter>(num_entries_);
      ++num_drafters_;
    } catch (const std::bad_alloc&) {
      return false;
    }
  } else {
    return false;
  }
  const SequenceParams& params = choice.sequence.params;
  choice.drafter->begin(to_size(params.prompt_tokens), to_size(params.max_cached), request.prediction);
  return true;
}

/// Cuts a draft before a token that ends the answer: no row is needed behind it.
void Drafting::cut(const ActiveRequest& request, const Choice& choice, Draft& draft) {
  const auto is_last = [&](TokenId token) { return token >= num_drawable_ || request.endings.ends_at(token, words_); };
  const std::span<const TokenId> tokens = std::span(draft.tokens).first(to_size(draft.num_tokens));
  draft.num_tokens = static_cast<int>(std::ranges::find_if(tokens, is_last) - tokens.begin());
  if (draft.num_tokens > 0 && choice.is_constrained()) draft.num_tokens = allowed_by(request, choice, draft);
}

/// How many leading tokens of a draft the choice's constraint allows, with a kept mask behind each: nothing could be
/// drawn from other rows. A copy of the constraint's state runs ahead, so that none of it counts for the answer.
int Drafting::allowed_by(const ActiveRequest& request, const Choice& choice, const Draft& draft) {
  if (request.may_open_reasoning(choice)) return 0;  // the first token decides from where content is constrained
  ahead_ = choice.constraint;
  for (int i = 0; i < draft.num_tokens; ++i) {
    const TokenId token = draft.tokens[to_size(i)];
    const std::span<const TokenId> forced = ahead_.forced();
    if ((!forced.empty() && forced.front() != token) || !ahead_.accept(token)) return i;
    if (!ahead_.is_mask_kept()) return i;
  }
  return draft.num_tokens;
}

int Drafting::num_drawn(const Choice& choice, int first) {
  const Draft& draft = choice.sequence.draft;
  const std::span<const TokenId> guessed = std::span(draft.tokens).first(to_size(draft.num_tokens));
  const std::span<const TokenId> drawn = std::span(choice.sequence.tokens).subspan(to_size(first));
  return static_cast<int>(std::ranges::mismatch(guessed, drawn).in1 - guessed.begin());
}

void Drafting::count_rows(Choice& choice, int num_rows) {
  if (num_rows == 0) return;
  choice.drafts.num_tokens += num_rows;
  if (choice.drafter != nullptr && choice.drafter->is_of_prediction()) choice.drafts.num_predicted += num_rows;
  ++counts_.drafts;
  counts_.drafted_tokens += to_size(num_rows);
}

void Drafting::count_accepted(Choice& choice, int begin, int end) {
  choice.drafts.num_accepted += end - begin;
  if (choice.drafter != nullptr && choice.drafter->is_of_prediction())
    choice.drafts.num_predicted_accepted += end - begin;
  counts_.accepted_draft_tokens += to_size(end - begin);
  for (int i = begin; i < end; ++i) ++counts_.accepted_drafts_at[to_size(i)];
}

void Drafting::follow(Choice& choice, int first) {
  const Draft& draft = choice.sequence.draft;
  if (choice.drafter == nullptr || draft.num_tokens == 0) return;
  const int drawn = num_drawn(choice, first);
  const bool is_wrong = drawn < std::min(draft.num_tokens, choice.sequence.num_tokens() - first);
  choice.drafter->accepted(drawn, is_wrong);
}

void Drafting::end(const ActiveRequest& request, Choice& choice) {
  if (choice.drafter != nullptr) spares_.push_back(std::move(choice.drafter));
  if (!looks_at_earlier_answers() || request.max_drafts == 0) return;
  const std::span<const TokenId> tokens = choice.sequence.tokens;
  said_.add(request.cache_domain, tokens.subspan(to_size(choice.sequence.params.prompt_tokens)));
}

}  // namespace octavo
