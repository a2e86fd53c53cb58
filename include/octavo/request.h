// A request, the way its tokens are drawn, and the events that answer it. octavo/engine.h takes requests.
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
#include "octavo/draft.h"
#include "octavo/embedding.h"
#include "octavo/picture.h"
#include "octavo/sampling.h"
#include "octavo/token.h"

namespace octavo {

using RequestId = std::uint64_t;

/// The progress of a prompt that is being read.
struct PromptProgress {
  int prompt_tokens = 0;    // the tokens of the whole prompt
  int cached_tokens = 0;    // prompt tokens that other requests computed, before or meanwhile
  int computed_tokens = 0;  // tokens whose keys and values are there, cached ones included; preemption makes them
                            // fewer again
  int encoded_tokens = 0;   // tokens of pictures after them whose vectors are there; of the picture that is being
                            // encoded, a part
  double seconds = 0;       // time since the first step with rows of the prompt
};

enum class ReasoningMode : std::uint8_t {
  kPlain,   // marks around reasoning are not looked for: the text is that of the shown tokens
  kLeftIn,  // marks are shown, even those that are control tokens; reasoning is counted, and bounded by a budget
  kSplit,   // reasoning arrives apart from content, without its marks
};

/// The reasoning of an answer: its part between the marks of the model's family (ModelInfo::reasoning). A model of no
/// known family has only content.
struct ReasoningParams {
  ReasoningMode mode = ReasoningMode::kPlain;
  bool begins_inside = false;  // whether the prompt ends after an opening mark (ChatPrompt::ends_in_reasoning)
  /// The most tokens of reasoning. After them the closing mark's tokens follow, one per step, after the last whole
  /// character: these tokens count as generated and have the model's own log-probabilities, whatever biases and bans
  /// say. 0: reasoning is closed at once; -1: any number. kPlain takes no budget.
  int budget = -1;
};

struct Request {
  std::vector<TokenId> tokens = {};  // the prompt, of at least one token
  /// The number of tokens at the prompt's end that may be others when the conversation goes on
  /// (ChatPrompt::generation_prompt_tokens); 0: none are known. A model with recurrent layers keeps its state before
  /// these tokens. The number never changes an answer.
  int generation_prompt_tokens = 0;
  SamplingParams sampling = {};
  int max_tokens = 0;                     // the most tokens to generate; 0: up to the end of the context
  int min_tokens = 0;                     // tokens before which neither an end token nor a stop token is drawn, as long
                                          // as any other token is left
  bool ignore_eos = false;                // whether an end token does not end the answer
  std::vector<TokenId> stop_tokens = {};  // further tokens that end the answer
  /// Control tokens whose text is shown (at most kMaxShownTokens), such as those in calls of tools. A token in a mark
  /// around reasoning that is split off is not shown.
  std::vector<TokenId> shown_tokens = {};
  bool shows_control_tokens = false;  // whether all control tokens are shown but the one that ends the answer
  /// Texts that end the answer (at most 64, each UTF-8 of 1 to 1024 bytes); neither a stop text nor what follows is
  /// shown. They are looked for in content, not in reasoning that is split off. Text that may become a stop text is
  /// held back. The first complete one counts, and the longest where several end together; a stop text that is complete
  /// within the first min_tokens tokens does not count.
  std::vector<std::string> stop = {};
  ReasoningParams reasoning = {};
  /// The constraint of the answer's content; reasoning before the content is free. It is made by compile_constraint()
  /// of this engine's texts; null: none. Bans and biases give way where they would leave no allowed token.
  std::shared_ptr<const Constraint> constraint = {};
  /// Whether tokens have log-probabilities. Otherwise TokenEvent::logprob is NaN, and the same tokens come sooner: rows
  /// are not weighed for it, and tokens that the constraint forces follow in the same step without a draw.
  bool logprobs = true;
  /// The most tokens that a choice drafts for a step, 0 to kMaxDraftTokens (EngineOptions::draft); it never changes an
  /// answer.
  int max_drafts = kMaxDraftTokens;
  /// Tokens that the answer is expected to be or to follow, such as a text that it changes little. What agrees is
  /// drafted and comes sooner; the tokens never change an answer.
  std::vector<TokenId> prediction = {};
  /// Tokens that an answer to this request had when it broke off: they count as its first ones. They are computed at
  /// the prompt's speed and told before the next one is drawn (TokenEvent::is_resumed), without log-probabilities; with
  /// the same seed the answer goes on as it would have. Only with one choice and without Mirostat, whose bound follows
  /// from every draw. Fewer than the answer may have, and none of them may have ended it.
  std::vector<TokenId> resumed_tokens = {};
  /// The number of answers to the one prompt, 1 to kMaxChoices and at most as many as can advance in one step
  /// (max_sequences and max_step_tokens). The prompt is computed once; each choice then goes on alone and ends with an
  /// event of its own. Choice i is drawn with the index first_choice + i, and is the answer that a request of one
  /// choice with that first_choice gets.
  int num_choices = 1;
  std::uint32_t first_choice = 0;
  /// The number of likeliest tokens to report beside each drawn one, with their log-probabilities: 0 to
  /// kMaxTopLogprobs, and 0 without `logprobs`.
  int top_logprobs = 0;
  /// Whether log-probabilities of constrained tokens are those among the tokens that the constraint allows.
  bool logprobs_after_mask = false;
  /// The priority, -kMaxPriority to kMaxPriority. Higher ones go first, and requests of one priority go by age. Every
  /// kStepsPerPriority steps of waiting count like one degree more, so that no request waits for ever.
  int priority = 0;
  /// The owner of the request: a name of at most kMaxOwnerBytes bytes. Places to run, memory and the queue are shared
  /// fairly among owners: a choice counts as kStepsPerChoice steps younger for every choice of the same owner that goes
  /// before it. Requests without a name count as those of one owner, who may take the whole queue. An owner never
  /// changes an answer.
  std::string owner = {};
  /// The flow of the request: a name of at most kMaxOwnerBytes bytes, within its owner. The flows of an owner share
  /// what is the owner's in the same way as owners share all; more of them get no more.
  std::string flow = {};
  /// The seconds from submit after which the request ends as kDeadline, whatever it has made. 0: no deadline.
  double deadline_s = 0;
  /// Requests of different cache domains never find each other's tokens in the prefix cache.
  std::string cache_domain = {};
  /// Whether nobody outside is told of its blocks (EngineOptions::kv_events).
  bool hides_blocks = false;
  /// The request for vectors of the prompt, or for scores.
  EmbeddingParams embedding = {};
  /// The number of the text of a pair that each token belongs to, for models that distinguish them
  /// (EmbeddingPrompt::token_types); empty: all 0.
  std::vector<std::uint8_t> token_types = {};
  /// The pictures among the tokens, in their order and without overlaps (ChatPrompt::pictures); their places have the
  /// model's placeholder. A model that sees computes the vectors of a picture once, whoever asks for them.
  std::vector<PromptPicture> pictures = {};
  /// Whether the prompt stays in the KV memory after the request's end (kLength), until cancel() is called with its
  /// number: prompts of its cache domain that begin with its whole blocks find them computed, whatever else runs.
  /// max_tokens must be -1. Pins leave room for a sequence as long as the context: a prompt without room beside them
  /// ends as kNotPinned, as RequestStats::error says, and is kept like any other. Blocks that pins share count once.
  bool pins = false;
  /// If set, the callback gets the logits of every prompt row, in order, at most 64 rows per call: (position of the
  /// first row, float32 [num_rows, vocab_size]). max_tokens may then be -1: nothing is generated. The whole prompt is
  /// computed, whatever is cached. The callback must not throw.
  std::function<void(int first_position, std::span<const float> logits)> on_prompt_logits = {};
  /// If set, the callback runs after each step in which the prompt has advanced, but not while the prompt waits to
  /// begin. The last call, when the prompt is computed, comes before the first token's event. The callback may submit
  /// and cancel; it must not throw.
  std::function<void(const PromptProgress&)> on_prompt_progress = {};
};

inline constexpr int kMaxChoices = 128;
inline constexpr int kMaxTopLogprobs = 20;
inline constexpr int kMaxShownTokens = 16;
inline constexpr int kMaxPriority = 1000;
inline constexpr int kStepsPerPriority = 256;
inline constexpr int kStepsPerChoice = 4096;
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
  kConstraint,
  kNotPinned
};
/// The name of a reason: "", "stop", "length", "context", "cancelled", "deadline", "failed", "not_finite",
/// "constraint", "not_pinned". kFailed: no memory was left for the request; kNotFinite: a router of the model gave
/// scores that are not finite; kConstraint: the constraint takes more steps than it may, or no token can go on with it,
/// as RequestStats::error says. An answer ends as kConstraint at the same token whatever runs beside it. kNotPinned:
/// there was no room for Request::pins.
std::string_view finish_reason_name(FinishReason reason);

/// The cost and the time of a finished choice: total_s is the sum of queued, prefill, decode and stalled time.
struct RequestStats {
  int prompt_tokens = 0;
  int cached_tokens = 0;  // prompt tokens that other requests computed, before or meanwhile
  int stored_tokens = 0;  // of these, tokens whose KV was read from disk for it (EngineOptions::kv_store)
  /// The position at which the prompt parts from an earlier prompt of its owner and cache domain that is still cached:
  /// both have at least a block in common, and the earlier one goes on with another token. -1: there is no such
  /// position, or it is not known.
  int diverged_at = -1;
  int generated_tokens = 0;
  int stop_text = -1;             // the index in Request::stop of the text that ended the answer; -1: none
  int reasoning_tokens = 0;       // generated tokens after an opening mark, the closing mark included
  int drafted_tokens = 0;         // guessed tokens that were computed beside the answer's own
  int accepted_draft_tokens = 0;  // the drafted tokens that were then drawn
  int drafted_prediction_tokens = 0, accepted_prediction_tokens = 0;  // the same for tokens of Request::prediction
  int preemptions = 0;               // the times that the choice stopped to make room for others, and went on later
  double time_to_first_token_s = 0;  // from submit to the first token
  double total_s = 0;                // from submit to the end
  double queued_s = 0;               // before the first step after admission
  double prefill_s = 0;              // steps that computed rows of the prompt, or lost rows again
  double decode_s = 0;               // steps that computed the next token
  std::string error = {};  // for kConstraint: the constraint, and why it cannot be followed; for kNotPinned: what there
                           // is no room for; for kFailed: what has failed, if it was no lack of memory
  double stalled_s = 0;    // admitted without a row: others had the step, the choice was preempted, or another request
                           // computed the same blocks
};

struct TokenLogprob {
  TokenId token = -1;
  float logprob = 0;
};

/// One step of an answer. `text` is whole UTF-8 characters: a partial character waits for its rest; bytes that never
/// become a character arrive as U+FFFD, with the true bytes in `bytes`. The last event of a choice has `finish` set,
/// and token -1 where the choice ended without a token. A request is over when all its choices have ended.
struct TokenEvent {
  RequestId request = 0;
  std::uint32_t choice = 0;  // first_choice .. first_choice + num_choices - 1
  TokenId token = -1;
  /// The natural log of the token's probability before any cut, at temperature 1. NaN: no draw, or nobody asked.
  float logprob = 0;
  std::span<const TokenLogprob> top_logprobs = {};  // the likeliest first; at most Request::top_logprobs
  std::string_view text = {};  // valid during the callback; empty for control tokens and for a token that is a kStop
  std::string_view bytes = {};
  std::string_view reasoning = {};  // with ReasoningMode::kSplit: the text of reasoning, in whole characters
  bool is_reasoning = false;        // whether it was drawn after an opening mark, or is of the closing one
  bool is_text = true;              // whether the token is no control token
  bool is_resumed = false;          // whether it is one of Request::resumed_tokens
  std::size_t other_bytes = 0;      // bytes of this and earlier tokens that are not in `bytes`: they were shown as
                                    // reasoning now, or dropped with a mark
  FinishReason finish = FinishReason::kNone;
  RequestStats stats = {};  // set together with `finish`
};
using TokenCallback = std::function<void(const TokenEvent&)>;

}  // namespace octavo
