#include "engine/request_maker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/to_size.h"
#include "engine/answers/choice_pool.h"

namespace octavo {

RequestMaker::RequestMaker(const ModelTextImpl& text, BlockHashing hashing, const VectorRules& vectors,
                           PictureVectors* pictures)
    : text_(text), hashing_(std::move(hashing)), vectors_(vectors), pictures_(pictures) {
  for (TokenId token = 0; token < text_.num_drawable(); ++token)
    if (text_.words().is_end_of_generation(token)) end_tokens_.push_back(token);
}

Result<std::unique_ptr<ActiveRequest>> RequestMaker::make(RequestId id, Request request, TokenCallback on_event,
                                                          int max_generated) const {
  auto active = std::make_unique<ActiveRequest>();
  active->id = id;
  active->submitted = Choice::Clock::now();
  if (request.deadline_s > 0) {
    const std::chrono::duration<double> time(request.deadline_s);
    active->deadline = active->submitted + std::chrono::duration_cast<Choice::Clock::duration>(time);
  }
  active->sampling = std::move(request.sampling);
  active->dry_breakers = text_.dry_breakers(active->sampling);
  active->suppressed = text_.suppressed();
  active->endings = endings_of(request, max_generated);
  active->shown_tokens = std::move(request.shown_tokens);
  active->reasoning = view_of(request, active->shown_tokens);
  active->reasoning_budget = request.reasoning.budget;
  active->constraint = std::static_pointer_cast<const CompiledConstraint>(std::move(request.constraint));
  active->opening_mark = opening_mark_of(active->reasoning);
  active->first_choice = request.first_choice;
  active->cache_domain = std::move(request.cache_domain);
  active->owner = std::move(request.owner);
  active->flow = std::move(request.flow);
  active->callbacks = {.on_prompt_logits = std::move(request.on_prompt_logits),
                       .on_prompt_progress = std::move(request.on_prompt_progress),
                       .on_event = std::move(on_event)};
  if (request.embedding.on_rows) {
    const Pooling pooling = vectors_.pooling_of(request.embedding);
    const bool ranks = pooling == Pooling::kRank;
    active->vector = {ranks ? vectors_.of_head : pooling, ranks, vectors_.width, std::move(request.embedding.on_rows)};
  }
  active->pins = request.pins;
  active->num_top_logprobs = request.top_logprobs;
  active->logprobs_after_mask = request.logprobs_after_mask;
  active->logprobs = request.logprobs;
  active->max_drafts = request.max_drafts;
  active->prediction = std::move(request.prediction);
  if (request.tokens.back() < text_.words().num_tokens())  // else it is one of the padding behind the words
    active->last_token = request.tokens.back();
  active->choices.resize(to_size(request.num_choices));
  active->num_active = request.num_choices;
  fill_prompt(request, *active);
  if (active->constraint != nullptr) find_first_mask(*active);
  if (!request.resumed_tokens.empty()) OCTAVO_TRY_VOID(resume(*active));
  return active;
}

/// Begins the choice, on the caller's thread, and lets it follow the tokens that it had. The prompt has them behind its
/// own, and they are computed with it.
Result<void> RequestMaker::resume(ActiveRequest& active) const {
  active.choices.front() = std::make_unique<Choice>(text_.words());
  Choice& choice = *active.choices.front();
  begin_choice(choice, active, 0, hashing_.block_size);
  const std::span<const TokenId> resumed =
      std::span(active.prompt.tokens).subspan(to_size(active.prompt.params.prompt_tokens));
  std::vector<TokenId>& tokens = choice.sequence.tokens;
  tokens.resize(tokens.size() - resumed.size());
  active.resumed.reserve(resumed.size());
  for (std::size_t i = 0; i < resumed.size(); ++i) {
    tokens.push_back(resumed[i]);
    const AppendedToken appended = choice.follow(active, text_.words());
    if (!appended.is_allowed)
      return fail("resumed_tokens[{}]: found {}, which {} does not allow there", i, resumed[i],
                  active.constraint->name());
    if (appended.finish != FinishReason::kNone)
      return fail("resumed_tokens[{}]: found {}, which ends the answer, expected tokens after which it goes on", i,
                  resumed[i]);
    active.resumed.emplace_back(TokenEvent{.token = resumed[i],
                                           .logprob = std::numeric_limits<float>::quiet_NaN(),
                                           .text = appended.shown.text,
                                           .bytes = appended.shown.bytes,
                                           .reasoning = appended.shown.reasoning,
                                           .is_reasoning = appended.is_reasoning,
                                           .is_text = choice.text.is_text(resumed[i]),
                                           .other_bytes = appended.shown.other_bytes});
  }
  if (!choice.is_constrained()) return {};
  std::ranges::fill(choice.mask.bits, MaskWord{0});
  choice.mask.set(choice.constraint.allow(choice.mask.bits));
  return {};
}

/// Finds the first mask, on the caller's thread. Compiling the constraint has found it, and it is mostly still kept.
void RequestMaker::find_first_mask(ActiveRequest& active) const {
  ConstraintState state;
  state.begin(active.constraint, active.last_token);
  active.first_mask.bits.resize(mask_words(to_size(text_.num_drawable())));
  active.first_mask.set(state.allow(active.first_mask.bits));
}

ReasoningView RequestMaker::view_of(const Request& request, std::span<const TokenId> shown) const {
  const ReasoningParams& reasoning = request.reasoning;
  ReasoningView view = {.options = {.shown = shown, .shows_all = request.shows_control_tokens}};
  if (reasoning.mode == ReasoningMode::kPlain) return view;
  view.marks = text_.words().reasoning();
  view.options.begins_inside = reasoning.begins_inside;
  view.options.is_left_in = reasoning.mode == ReasoningMode::kLeftIn;
  return view;
}

/// The token that opens reasoning; -1 where the mark has several tokens, as later ones would have to be allowed too.
TokenId RequestMaker::opening_mark_of(const ReasoningView& reasoning) {
  if (reasoning.marks == nullptr || reasoning.options.begins_inside) return -1;
  for (const ReasoningMarks::Mark& mark : reasoning.marks->marks())
    if (mark.kind == ReasoningMarks::Kind::kOpen && mark.symbols.size() == 1 && mark.symbols[0] >= kFirstMarkToken)
      return reasoning.marks->token(mark.symbols[0]).id;
  return -1;
}

EndingRules RequestMaker::endings_of(Request& request, int max_generated) const {
  EndingRules endings{.max_generated = max_generated,
                      .at_limit = request.max_tokens == 0 ? FinishReason::kContext : FinishReason::kLength,
                      .ignore_eos = request.ignore_eos,
                      .stop_tokens = std::move(request.stop_tokens),
                      .stop = StopTexts(std::move(request.stop)),
                      .min_generated = request.min_tokens};
  if (request.min_tokens > 0) {
    endings.ending_tokens = end_tokens_;
    endings.ending_tokens.insert(endings.ending_tokens.end(), endings.stop_tokens.begin(), endings.stop_tokens.end());
  }
  return endings;
}

void RequestMaker::fill_prompt(Request& request, ActiveRequest& active) const {
  Sequence& prompt = active.prompt;
  prompt.params.id = active.id;
  prompt.params.choice = request.num_choices - 1;  // the last choice that begins takes the prompt's place
  prompt.params.priority = request.priority;
  prompt.params.cache_domain = active.cache_domain;
  prompt.params.owner = active.owner;
  prompt.params.flow = active.flow;
  prompt.params.hides_blocks = request.hides_blocks;
  prompt.tokens = std::move(request.tokens);
  prompt.params.prompt_tokens = static_cast<int>(prompt.tokens.size());
  prompt.tokens.insert(prompt.tokens.end(), request.resumed_tokens.begin(), request.resumed_tokens.end());
  // The last token is computed whatever is cached, unless the prompt is pinned for others to continue.
  prompt.params.generation_prompt_tokens = std::max(request.pins ? 0 : 1, request.generation_prompt_tokens);
  prompt.params.samples = active.endings.max_generated != 0;
  prompt.params.makes_vector = active.vector.is_wanted();
  prompt.params.is_whole = vectors_.is_encoder;
  if (active.vector.is_wanted()) prompt.pending.vector_rows = active.vector.positions(prompt.params.prompt_tokens);
  prompt.token_types = std::move(request.token_types);
  prompt.pending.prompt_logits_from = active.callbacks.on_prompt_logits ? 0 : prompt.params.prompt_tokens;
  prompt.pending.reported_progress = active.callbacks.on_prompt_progress ? -1 : prompt.params.prompt_tokens;
  prompt.num_forks = request.num_choices - 1;
  // The last token that is generated never becomes a row.
  prompt.params.max_cached = prompt.params.prompt_tokens + std::max(0, active.endings.max_generated - 1);
  fill_pictures(request, prompt);
  prompt.hash_blocks(BlockHashing(hashing_));
}

void RequestMaker::fill_pictures(const Request& request, Sequence& prompt) const {
  if (request.pictures.empty()) return;
  prompt.given.turns_by_grid = text_.pictures()->turns_by_grid();
  prompt.given.joins_rows = text_.pictures()->rules().joins_rows;
  const PreparedPicture* before = nullptr;
  for (const PromptPicture& given : request.pictures) {
    prompt.given.rows.push_back(
        {.first = given.first, .count = given.count, .index = given.index, .digest = {given.picture->digest}});
    const bool goes_on = given.picture.get() == before && given.index > 0;
    prompt.given.pictures.push_back(goes_on ? prompt.given.pictures.back()
                                            : pictures_->rows_of(given.picture, prompt.params.cache_domain));
    before = given.picture.get();
  }
}

}  // namespace octavo
