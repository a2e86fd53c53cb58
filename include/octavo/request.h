// A request, how its tokens are drawn, and the events that answer it. octavo/engine.h takes requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/constraint.h"
#include "octavo/kv/types.h"
#include "octavo/sampling.h"

namespace octavo {

using RequestId = std::uint64_t;

/// The progress of a prompt that is being read.
struct PromptProgress {
  int prompt_tokens = 0;    // all of them
  int cached_tokens = 0;    // of these: computed by others, before or meanwhile
  int computed_tokens = 0;  // whose keys and values are there, the cached ones included; fewer than before where others
                            // took the memory, or all
  double seconds = 0;       // since the first step with rows of it
};

enum class ReasoningMode : std::uint8_t {
  kPlain,   // nobody looks for the marks around reasoning: text is what tokens that are shown spell
  kLeftIn,  // the same, and the marks are shown whatever they are; reasoning is counted, and bounded where asked for
  kSplit,   // reasoning arrives apart from content, without its marks
};

/// The reasoning of an answer: its part between the marks of the model's family (ModelInfo::reasoning). Of a model
/// without marks that are known, all is content.
struct ReasoningParams {
  ReasoningMode mode = ReasoningMode::kPlain;
  bool begins_inside = false;  // the prompt ends behind an opening mark (ChatPrompt::ends_in_reasoning)
  /// Tokens of reasoning at most, then the closing mark's tokens follow, one a step, when a character that has begun is
  /// over: they count as generated and have the model's own log-probabilities, whatever biases and bans say.
  /// 0: it is closed at once; -1: any number. Not with kPlain.
  int budget = -1;
};

struct Request {
  std::vector<TokenId> tokens = {};  // the prompt; at least one token
  /// Tokens at the prompt's end that may be others when the conversation goes on
  /// (ChatPrompt::generation_prompt_tokens); 0: none are known. A model with recurrent layers keeps its state in front
  /// of them. Never changes an answer.
  int generation_prompt_tokens = 0;
  SamplingParams sampling = {};
  int max_tokens = 0;                     // tokens to generate at most; 0: until the end of the context
  int min_tokens = 0;                     // before this many, neither an end token nor a stop token is drawn, as long
                                          // as any other is left
  bool ignore_eos = false;                // go on after an end token
  std::vector<TokenId> stop_tokens = {};  // further tokens that end the answer
  /// Control tokens whose text is shown as any other's (at most kMaxShownTokens): those that stand in calls of tools.
  /// Where one is part of a mark around reasoning that is split off, it is not.
  std::vector<TokenId> shown_tokens = {};
  /// Texts that end the answer (at most 16, each UTF-8 of 1 to 1024 bytes); neither they nor what follows is shown.
  /// They are looked for in content, not in reasoning that is split off.
  /// Text that may become one is held back. The first to be complete counts, of those the longest; not one that is
  /// complete within the first min_tokens tokens.
  std::vector<std::string> stop = {};
  ReasoningParams reasoning = {};
  /// Of the answer's content, from its first token on: reasoning in front of it is free. Of this engine's
  /// compile_constraint(); null: none. Bans and biases give way where they would leave nothing that it allows.
  std::shared_ptr<const Constraint> constraint = {};
  /// Tokens that the constraint forces are computed and drawn like others, for their log-probabilities. Without, those
  /// behind the first follow at once, in the same step, and their TokenEvent::logprob is NaN: the same tokens, sooner.
  bool draws_forced = true;
  /// Answers to make of the one prompt, 1 to kMaxChoices and to as many as advance in one step (max_sequences, and no
  /// more than max_step_tokens). The prompt is computed once; each choice then goes on alone and ends with an event of
  /// its own. Choice i is drawn as index first_choice + i: it is the same answer that a request of one choice with that
  /// first_choice gets.
  int num_choices = 1;
  std::uint32_t first_choice = 0;
  /// Likeliest tokens to report beside each drawn one, with their log-probabilities: 0 to kMaxTopLogprobs.
  int top_logprobs = 0;
  /// Log-probabilities of constrained tokens are those among the tokens that the constraint allows.
  bool logprobs_after_mask = false;
  /// The higher, the earlier; requests of one priority go by age. Every kStepsPerPriority steps of waiting count like
  /// one more, so that none waits for ever. -kMaxPriority to kMaxPriority.
  int priority = 0;
  /// The owner of the request: a name of at most kMaxOwnerBytes bytes. Seats, memory and the queue are shared fairly by
  /// owner: a choice counts as kStepsPerSeat steps younger for every choice of the same owner that goes before it.
  /// Empty: nobody's in particular; these count as one owner's, who may take all of the queue. Never changes an answer.
  std::string owner = {};
  /// Seconds from submit after which it ends as kDeadline, whatever it has made. 0: none.
  double deadline_s = 0;
  /// Requests of different cache domains never find each other's tokens in the prefix cache.
  std::string cache_domain = {};
  /// If set: called with the logits of every prompt row, in order, at most 64 rows a call:
  /// (position of the first row, float32 [num_rows, vocab_size]). With it max_tokens may be -1: generate nothing. All
  /// of the prompt is computed then, whatever is cached. It must not throw.
  std::function<void(int first_position, std::span<const float> logits)> on_prompt_logits = {};
  /// If set: called after a step in which the prompt has come further, once a step at most and not while it waits to
  /// begin. The last call, when all of it is computed, comes before the first token's event. It may submit and cancel;
  /// it must not throw.
  std::function<void(const PromptProgress&)> on_prompt_progress = {};
};

inline constexpr int kMaxChoices = 128;
inline constexpr int kMaxTopLogprobs = 20;
inline constexpr int kMaxShownTokens = 16;
inline constexpr int kMaxPriority = 1000;
inline constexpr int kStepsPerPriority = 256;
inline constexpr int kStepsPerSeat = 4096;
inline constexpr std::size_t kMaxOwnerBytes = 256;

enum class FinishReason : std::uint8_t {
  kNone,
  kStop,
  kLength,
  kContext,
  kCancelled,
  kDeadline,
  kFailed,
  kNotFinite,
  kConstraint
};
/// "", "stop", "length", "context", "cancelled", "deadline", "failed", "not_finite", "constraint". kFailed: no memory
/// was left for the request, or its constraint allows no token; kNotFinite: a router of the model gave it scores that
/// are no numbers; kConstraint: to follow its constraint takes more steps than it may, as RequestStats::error says. It
/// ends so at the same token whatever runs beside it.
std::string_view finish_reason_name(FinishReason reason);

/// The cost of a finished choice of a request, and its time: total_s is the sum of queued, prefill, decode and stalled
/// time.
struct RequestStats {
  int prompt_tokens = 0;
  int cached_tokens = 0;  // of the prompt: computed by others, before or meanwhile
  /// The position at which the prompt parts from what earlier requests of its owner (and cache domain) have computed
  /// and is still cached: behind a block that they have in common at least, where theirs go on with another token. -1:
  /// nowhere, or nobody knows.
  int diverged_at = -1;
  int generated_tokens = 0;
  int stop_text = -1;                // the answer ended at this one of Request::stop; -1: at none
  int reasoning_tokens = 0;          // of these: behind an opening mark, up to the closing one, which counts with them
  int preemptions = 0;               // times it stopped to make room for others, to go on later
  double time_to_first_token_s = 0;  // from submit to the first token
  double total_s = 0;                // from submit to the end
  double queued_s = 0;               // before the first step that it was admitted to
  double prefill_s = 0;              // steps that computed rows of its prompt, or computed lost ones again
  double decode_s = 0;               // steps that computed its next token
  std::string error = {};            // of kConstraint: the constraint, the steps that it took, and those that it may
  double stalled_s = 0;  // admitted, but without a row: others had the step, it was preempted, or another request
                         // computed what it needs as well
};

struct TokenLogprob {
  TokenId token = -1;
  float logprob = 0;
};

/// One step of an answer. `text` is whole UTF-8 characters: a partial character waits for its rest; bytes that never
/// become one arrive as U+FFFD, with the true bytes in `bytes`. The last event of a choice has `finish` set;
/// its token is -1 where the end came without one. A request is over when all its choices have ended.
struct TokenEvent {
  RequestId request = 0;
  std::uint32_t choice = 0;  // first_choice .. first_choice + num_choices - 1
  TokenId token = -1;
  float logprob = 0;  // natural log of the token's probability before any cut, at temperature 1; NaN: it was not drawn
  std::span<const TokenLogprob> top_logprobs = {};  // likeliest first, as many as asked for and there are
  std::string_view text = {};  // valid during the callback; control tokens and a token that is a kStop have none
  std::string_view bytes = {};
  std::string_view reasoning = {};  // with ReasoningMode::kSplit: text that is no content; whole characters
  bool is_reasoning = false;        // the token was drawn between an opening mark and the end of the closing one
  bool is_text = true;              // the token's bytes are text: it is no control token
  std::size_t other_bytes = 0;  // of this and earlier tokens' text, decided now and not in `bytes`: shown as reasoning,
                                // or dropped with a mark
  FinishReason finish = FinishReason::kNone;
  RequestStats stats = {};  // set with `finish`
};
using TokenCallback = std::function<void(const TokenEvent&)>;

}  // namespace octavo
