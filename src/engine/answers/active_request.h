// A request from submit() to the last event of its last choice: its sequences, and the state that turns drawn tokens
// into events.
//
// Made by the thread that submits; from then on only the thread that drives the engine may touch it.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/to_size.h"
#include "constraint/constraint_state.h"
#include "engine/answers/answer_text.h"
#include "engine/answers/next_mask.h"
#include "engine/answers/queue_usage.h"
#include "engine/answers/reasoning_budget.h"
#include "engine/drafts/drafter.h"
#include "engine/schedule/sequence.h"
#include "engine/text/dry_breakers.h"
#include "engine/text/model_tokenizer.h"
#include "octavo/engine.h"
#include "octavo/request_event.h"
#include "sampler/sampler.h"

namespace octavo {

inline double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// The time of a choice, by what it was spent on. The rest between the first step and the end is stalled.
struct ChoiceTimes {
  using Clock = std::chrono::steady_clock;

  std::optional<Clock::time_point> first_step, first_token;  // when that step began; when the token came
  Clock::duration in_prefill{}, in_decode{};                 // steps in which it had such rows
};

struct ActiveRequest;

/// The effect of an appended token on its answer.
struct AppendedToken {
  AnswerText::Piece shown = {};
  bool is_reasoning = false;
  bool is_allowed = true;  // whether the constraint allows the token
  FinishReason finish = FinishReason::kNone;
};

/// How many drafted tokens of a choice had rows, and how many of them were drawn.
struct DraftCounts {
  int num_tokens = 0, num_accepted = 0;
  int num_predicted = 0, num_predicted_accepted = 0;  // tokens of the request's prediction
};

/// One of the answers to a request's prompt, from when the prompt is computed.
struct Choice {
  using Clock = ChoiceTimes::Clock;

  explicit Choice(const ModelTokenizer& words) : text(words) { top_logprobs.reserve(to_size(kMaxTopLogprobs)); }
  /// Turns this into an answer to the request, in the memory that it has. Its caller gives it a sequence of the cache.
  void begin(const ActiveRequest& request, int index);
  /// Takes over what the prompt has learned since begin(), of a choice that began with the request.
  void take_over(const Sequence& prompt);
  /// All that depends on the answer's tokens moves on by the last one of the sequence.
  AppendedToken follow(const ActiveRequest& request, const ModelTokenizer& words);

  Sequence sequence;
  bool active = false;           // it has a sequence in the KV cache, and its last event is still to come
  bool owes_last_event = false;  // it was ended from outside, and the caller does not know it yet
  AnswerText text;
  ReasoningBudget budget;
  ConstraintState constraint;              // the constraint of the answer's content
  NextMask mask;                           // the mask of the next token, if that is drawn under the constraint
  int num_reasoning = 0;                   // the number of tokens of reasoning
  std::vector<TokenLogprob> top_logprobs;  // for the last token drawn, as many as are asked for
  float surprise_bound = 0;                // Mirostat's, for the next token
  ChoiceTimes times;
  std::unique_ptr<Drafter> drafter;  // null until it drafts, and after another choice took it
  DraftCounts drafts;

  ReasoningBudget::State reasoning_state() const {
    return {.is_inside_reasoning = text.is_inside_reasoning(), .is_inside_character = text.is_inside_character()};
  }
  /// Whether the next token is drawn under the constraint.
  bool is_constrained() const { return constraint.is_on() && !text.is_inside_reasoning() && budget.forced() < 0; }
  int num_generated() const { return sequence.num_tokens() - sequence.params.prompt_tokens; }
};

/// When the choices of a request end.
struct EndingRules {
  int max_generated = 0;                          // the most tokens of a choice
  FinishReason at_limit = FinishReason::kLength;  // the reason of an answer that ends there
  bool ignore_eos = false;
  std::vector<TokenId> stop_tokens = {};
  StopTexts stop = {};
  int min_generated = 0;  // the fewest tokens of a choice, before its text or one of these tokens may end it
  std::vector<TokenId> ending_tokens = {};  // end tokens and stop_tokens; empty where min_generated is 0

  /// Whether an answer always ends with this token.
  bool ends_at(TokenId token, const ModelTokenizer& words) const {
    return (!ignore_eos && words.is_end_of_generation(token)) ||
           std::ranges::find(stop_tokens, token) != stop_tokens.end();
  }
};

/// The callbacks of a request.
struct RequestCallbacks {
  std::function<void(int, std::span<const float>)> on_prompt_logits = {};
  std::function<void(const PromptProgress&)> on_prompt_progress = {};
  TokenCallback on_event = {};
};

struct ActiveRequest {
  RequestId id = 0;
  SamplingParams sampling;
  std::shared_ptr<const BreakerTokens> dry_breakers = {};  // the tokens of sampling.dry.breakers; null: DRY is off
  std::span<const TokenId> suppressed = {};                // tokens that the engine never draws
  EndingRules endings;
  std::vector<TokenId> shown_tokens = {};  // control tokens that are shown
  ReasoningView reasoning;    // the engine's marks, if answers are searched for them; it refers to shown_tokens
  int reasoning_budget = -1;  // in tokens; -1: any number
  std::shared_ptr<const CompiledConstraint> constraint = {};
  NextMask first_mask = {};   // the mask of each choice's first token, if the constraint applies from it on
  TokenId opening_mark = -1;  // the token that opens reasoning, allowed before a constrained answer; -1: none
  std::uint32_t first_choice = 0;
  int num_top_logprobs = 0;
  bool pins = false;  // the prompt stays in the cache once it is computed
  bool logprobs_after_mask = false;
  bool logprobs = true;
  int max_drafts = kMaxDraftTokens;      // the most tokens that a choice drafts for a step
  std::vector<TokenId> prediction = {};  // a text that the answers may follow
  std::optional<TokenId> last_token;     // the prompt's last token, if the tokenizer knows it
  std::string cache_domain, owner, flow;
  RequestCallbacks callbacks;
  PooledRows vector;
  Choice::Clock::time_point submitted;
  std::optional<Choice::Clock::time_point> deadline;
  QueueUsage::Place place;  // held until the request is admitted
  Sequence prompt;          // computed once; the choices fork from it
  bool is_reading = false;  // the prompt has a sequence in the KV cache
  ChoiceTimes times;        // the prompt's times, which all choices share
  /// [num_choices]; null until a choice begins, in order of their numbers: a request that waits takes memory for its
  /// prompt alone, however many choices it has.
  std::vector<std::unique_ptr<Choice>> choices;
  int num_begun = 0;
  std::vector<float> last_row;  // the logits for choices that begin in a later step than the one that computed them
  int num_active = 0;           // choices that have not ended; at 0 the request is kept until the end of the step
  std::string error = {};       // RequestStats::error
  std::vector<RequestEvent> resumed = {};  // of Request::resumed_tokens, until their choice begins

  /// The inputs of the draw of the choice's token at `position`, besides its logits.
  DrawContext draw_context(const Choice& choice, int position, std::span<const MaskWord> allowed) const {
    const bool may_end = position - choice.sequence.params.prompt_tokens >= endings.min_generated;
    return {.tokens = std::span(choice.sequence.tokens).first(to_size(position)),
            .prompt_tokens = choice.sequence.params.prompt_tokens,
            .forbidden = may_end ? std::span<const TokenId>() : endings.ending_tokens,
            .suppressed = suppressed,
            .dry_breakers = dry_breakers ? std::span<const TokenId>(dry_breakers->tokens) : std::span<const TokenId>(),
            .forced = choice.budget.forced(),
            .allowed = allowed,
            .wants_logprob = logprobs,
            .logprobs_of_allowed = logprobs_after_mask,
            .surprise_bound = choice.surprise_bound};
  }
  /// Whether a constrained answer may begin with this token, which is no part of its content.
  bool opens_reasoning(const Choice& choice, TokenId token) const {
    return token == opening_mark && may_open_reasoning(choice);
  }
  bool may_open_reasoning(const Choice& choice) const {
    return opening_mark >= 0 && choice.constraint.is_at_start() && choice.num_reasoning == 0;
  }
  /// The token that must follow the choice's last one without a draw; -1: one is to be drawn. Mirostat counts the
  /// surprise of all tokens.
  TokenId known_token(const Choice& choice) const {
    if (logprobs || sampling.mirostat.version != 0 || !choice.is_constrained()) return -1;
    if (may_open_reasoning(choice)) return -1;
    const std::span<const TokenId> forced = choice.constraint.forced();
    return forced.empty() ? -1 : forced.front();
  }
  /// Whether a stop text that becomes complete now ends the answer: only after the first min_generated tokens.
  bool stops_count(const Choice& choice) const { return choice.num_generated() > endings.min_generated; }
  std::uint32_t choice_index(int choice) const { return first_choice + static_cast<std::uint32_t>(choice); }
  std::uint32_t choice_index(const Choice& choice) const { return choice_index(choice.sequence.params.choice); }
  /// The statistics of a choice that has just ended, or that ends before its prompt is computed.
  RequestStats stats_of(const Choice& choice) const {
    RequestStats stats = stats_of(choice.sequence, choice.times);
    stats.reasoning_tokens = choice.num_reasoning;
    stats.stop_text = choice.text.stop_text();
    stats.drafted_tokens = choice.drafts.num_tokens;
    stats.accepted_draft_tokens = choice.drafts.num_accepted;
    stats.drafted_prediction_tokens = choice.drafts.num_predicted;
    stats.accepted_prediction_tokens = choice.drafts.num_predicted_accepted;
    return stats;
  }
  RequestStats stats_of_prompt() const { return stats_of(prompt, times); }

 private:
  RequestStats stats_of(const Sequence& sequence, const ChoiceTimes& times_of_it) const;
};

}  // namespace octavo
