// Octavo's public interface: load a model, submit requests, receive tokens.
//
//     auto engine = octavo::Engine::load({.model_path = "model.gguf"});
//     if (!engine) return report(engine.error().message);
//     octavo::Request request{.tokens = *(*engine)->tokenize("Once upon a time", {})};
//     (*engine)->submit(std::move(request), [](const octavo::TokenEvent& event) { std::cout << event.text; });
//     (*engine)->run();
//
// Any thread may submit, cancel, drain and ask for stats; one thread at a time drives the engine (step, run, run_until)
// and calls the callbacks. octavo/token_stream.h has requests whose events are pulled. The library never prints, never
// exits and reads no environment variable.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/kv/paged_kv_cache.h"
#include "octavo/kv/prefill.h"
#include "octavo/kv/types.h"
#include "octavo/queue_bound.h"
#include "octavo/resources.h"
#include "octavo/result.h"

namespace octavo {

using RequestId = std::uint64_t;

/// How far loading has come, for a progress bar: done of total bytes of weights.
struct LoadProgress {
  std::uint64_t done_bytes;
  std::uint64_t total_bytes;
};

struct EngineOptions {
  std::filesystem::path model_path = {};  // a GGUF file
  int num_threads = 0;                    // 0: one for each physical core that this process may use, no more
                                          // than its cgroup's quota rounded down
  std::string isa = "auto";  // auto, scalar, avx2, avxvnni, avx512vnni, neon; an unsupported one is an error
  KvType kv_type = kDefaultKvType;
  KvLayout kv_layout = KvLayout::kPaged;  // contiguous: one sequence at a time, others wait; no q8_0
  int block_size = 16;                    // tokens in a KV block of the paged layout: a power of two, 1 to 256
  std::uint64_t kv_memory_bytes = 0;      // hard budget of the KV arena, whose memory is taken as it is needed; 0: half
                                          // of what is free after loading. Never more than max_sequences can use
  int max_context = 0;        // tokens in one sequence, prompt and answer; 0: what the model was trained for
  int max_step_tokens = 512;  // rows computed in one step at most; longer prompts are read in chunks
  int max_sequences = 256;    // sequences that advance in one step at most
  bool prefix_cache = true;   // prompts that begin alike share memory and work; never changes an answer
  /// A step is filled up to this predicted time, in milliseconds, where somebody waits for the next token. 0: steps are
  /// bounded by max_step_tokens alone, for one user who wants throughput; loading then measures nothing.
  double itl_target_ms = 50;
  /// Who gets a step's time: prompts before answers, answers and then prompts, or answers as long as there are any (a
  /// prompt that has waited long goes all the same). Never changes an answer.
  PrefillPriority policy = PrefillPriority::kInterleaved;
  /// Seconds without work after which run_until() gives all KV memory back to the system, the prefix cache included; it
  /// is taken again as it is needed. Memory of blocks without contents goes after 30 seconds. 0: the prefix cache
  /// stays.
  double idle_release_s = 600;
  /// Requests that were never admitted yet, and tokens of their prompts, a prompt counted once for each of its choices.
  /// What goes beyond either is refused as kQueueFull, and what would alone, always, as a wrong request. 0: no bound.
  /// One owner cannot take all of it (queue_bound.h).
  int max_queued = 1024;
  std::int64_t max_queued_tokens = std::int64_t{1} << 22;
  /// Weights are brought into the order that the processor wants, in memory of this process. Without it they stay in
  /// the file, whose pages all processes share, and are brought into order each time they are used: slower, same
  /// answer. The file must stay as it is then: touching a page that it no longer has raises SIGBUS, which ends a
  /// process that does not handle it.
  bool repack = true;
  /// Threads and KV memory that this engine shares with others; null: it has its own. With it num_threads must be 0,
  /// and kv_memory_bytes is what this engine takes of theirs; 0: what is left.
  std::shared_ptr<Resources> resources = {};
  std::function<void(const LoadProgress&)> on_load_progress = {};  // called on the loading thread
};

/// How the next token is drawn. The order of the cuts is: top_k, top_p, min_p, temperature last.
struct SamplingParams {
  float temperature = 1.0F;  // 0: the most likely token, always
  int top_k = 0;             // keep the k most likely; 0: all
  float top_p = 1.0F;        // keep the fewest tokens whose probabilities sum to at least this
  float min_p = 0.0F;        // drop tokens less likely than this share of the most likely one
  std::uint64_t seed = 0;    // draws are keyed by (seed, choice index, position, draw): same seed, same tokens
  /// Before all cuts, in this order: repetition_penalty divides the positive logits of tokens in the prompt and the
  /// answer, and multiplies the negative ones; frequency_penalty is subtracted once for each time that the token stands
  /// in the answer, presence_penalty once if it does; logit_bias is added, and one of -100 forbids the token
  /// as long as any other is left.
  float repetition_penalty = 1.0F;                         // above 0; 1: none
  float frequency_penalty = 0.0F;                          // -2 to 2
  float presence_penalty = 0.0F;                           // -2 to 2
  std::vector<std::pair<TokenId, float>> logit_bias = {};  // each -100 to 100
};

/// How far a prompt that is being read has come.
struct PromptProgress {
  int prompt_tokens = 0;    // all of them
  int cached_tokens = 0;    // of these: computed by others, before or meanwhile
  int computed_tokens = 0;  // whose keys and values are there, the cached ones included; fewer than before where others
                            // took the memory, or all
  double seconds = 0;       // since the first step with rows of it
};

struct Request {
  std::vector<TokenId> tokens = {};  // the prompt; at least one token
  SamplingParams sampling = {};
  int max_tokens = 0;                     // tokens to generate at most; 0: until the end of the context
  int min_tokens = 0;                     // before this many, neither an end token nor a stop token is drawn, as long
                                          // as any other is left
  bool ignore_eos = false;                // go on after an end token
  std::vector<TokenId> stop_tokens = {};  // further tokens that end the answer
  /// Texts that end the answer (at most 16, each UTF-8 of 1 to 1024 bytes); neither they nor what follows is shown.
  /// What may become one is held back. The first to be complete counts, of those the longest; not one that is
  /// complete within the first min_tokens tokens.
  std::vector<std::string> stop = {};
  /// Answers to make of the one prompt, 1 to kMaxChoices and to as many as advance in one step (max_sequences, and no
  /// more than max_step_tokens). The prompt is computed once; each choice then goes on alone and ends with an event of
  /// its own. Choice i is drawn as index first_choice + i: it is the same answer that a request of one choice with that
  /// first_choice gets.
  int num_choices = 1;
  std::uint32_t first_choice = 0;
  /// Likeliest tokens to report beside each drawn one, with their log-probabilities: 0 to kMaxTopLogprobs.
  int top_logprobs = 0;
  /// The higher, the earlier; requests of one priority go by age. Every kStepsPerPriority steps of waiting count like
  /// one more, so that none waits for ever. -kMaxPriority to kMaxPriority.
  int priority = 0;
  /// Whose request it is: a name of at most kMaxOwnerBytes bytes. Seats, memory and the queue are shared fairly by
  /// owner: a choice counts as kStepsPerSeat steps younger for every choice of the same owner that goes before it.
  /// Empty: nobody's in particular; these count as one owner's, who may take all of the queue. Never changes an answer.
  std::string owner = {};
  /// Seconds from submit after which it ends as kDeadline, whatever it has made. 0: none.
  double deadline_s = 0;
  /// Who may share: requests of different domains never find each other's tokens in the prefix cache.
  std::string cache_domain = {};
  /// If set: called with the logits of every prompt row, in order, at most 64 rows a call:
  /// (position of the first row, float32 [num_rows, vocab_size]). With it max_tokens may be -1: generate nothing. All
  /// of the prompt is computed then, whatever is cached. It must not throw.
  std::function<void(int first_position, std::span<const float> logits)> on_prompt_logits = {};
  /// If set: called after a step in which the prompt has come further, once a step at most and not while it waits to
  /// begin; last when all of it is computed, before the first token's event. It may submit and cancel; it must not
  /// throw.
  std::function<void(const PromptProgress&)> on_prompt_progress = {};
};

inline constexpr int kMaxChoices = 128;
inline constexpr int kMaxTopLogprobs = 20;
inline constexpr int kMaxPriority = 1000;
inline constexpr int kStepsPerPriority = 256;
inline constexpr int kStepsPerSeat = 4096;
inline constexpr std::size_t kMaxOwnerBytes = 256;

enum class FinishReason : std::uint8_t { kNone, kStop, kLength, kContext, kCancelled, kDeadline, kFailed };
/// "", "stop", "length", "context", "cancelled", "deadline", "failed"
std::string_view finish_reason_name(FinishReason reason);

/// What a finished choice of a request cost, and where its time went: total_s is the sum of queued, prefill, decode and
/// stalled time.
struct RequestStats {
  int prompt_tokens = 0;
  int cached_tokens = 0;  // of the prompt: computed by others, before or meanwhile
  int generated_tokens = 0;
  int preemptions = 0;               // times it stopped to make room for others, to go on later
  double time_to_first_token_s = 0;  // from submit to the first token
  double total_s = 0;                // from submit to the end
  double queued_s = 0;               // before the first step that it was admitted to
  double prefill_s = 0;              // steps that computed rows of its prompt, or computed lost ones again
  double decode_s = 0;               // steps that computed its next token
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
  float logprob = 0;  // natural log of the token's probability before any cut, at temperature 1
  std::span<const TokenLogprob> top_logprobs = {};  // likeliest first, as many as asked for
  std::string_view text = {};  // valid during the callback; control tokens and a token that is a kStop have none
  std::string_view bytes = {};
  FinishReason finish = FinishReason::kNone;
  RequestStats stats = {};  // set with `finish`
};
using TokenCallback = std::function<void(const TokenEvent&)>;

struct TokenizeOptions {
  bool add_special = true;    // BOS/EOS as the file says, unless the text already begins with BOS
  bool parse_special = true;  // control tokens written in the text become those tokens
  /// A text of more is refused as kContextOverflow, and costs no more than one of so many. 0: any number.
  std::size_t max_tokens = 0;
};

struct ChatMessage {
  std::string role;     // system, user, assistant
  std::string content;  // never parsed for control tokens
};

/// What some of a model's matrices take: multiply-adds of one token with quantized weights and with plain floats, and
/// the file's bytes.
struct MatrixWork {
  std::uint64_t int8_multiply_adds = 0;
  std::uint64_t float_multiply_adds = 0;
  std::uint64_t bytes = 0;
};
/// What attention takes in the layers that look back equally far. The last layer has an entry of its own.
struct AttentionWork {
  int num_layers = 0;
  int window = 0;                         // tokens that a row sees, its own included; 0: all before it
  bool only_logit_rows = false;           // the last layer: rows whose logits are not needed only leave K and V there
  std::uint64_t kv_bytes = 0;             // keys and values of one token, in all these layers
  std::uint64_t float_multiply_adds = 0;  // of one row with one token that it sees, in all these layers
};

/// What was loaded.
struct ModelInfo {
  std::string name;         // general.name, at most 256 bytes; the file's name where it has none
  std::string file_name;    // without folders
  std::string file_hash;    // 32 hexadecimal digits: of all metadata and weights; without repack of the metadata, the
                            // file's size and time, and the beginning of each matrix
  std::string fingerprint;  // "fp_" and 16 digits: where it, the request and the seed are equal, tokens are. Of the
                            // build, the C library, the instruction set, the file's hash and kv_type
  std::string architecture;
  int vocab_size = 0;
  int num_tokens = 0;  // ids that have a text: the tokenizer's, where the model pads its vocabulary beyond them
  int num_layers = 0;
  int max_context = 0;  // in force: the option's; without one the model's, or what the KV budget can hold
  std::uint64_t weight_bytes = 0;
  std::uint64_t mapped_weight_bytes = 0;     // of these: in the file's pages, not in memory of this process
  std::uint64_t weight_bytes_per_token = 0;  // weights read to compute one token alone
  std::uint64_t kv_bytes_per_token = 0;
  std::uint64_t kv_arena_bytes = 0;  // the most that the KV memory can grow to
  MatrixWork layer_work;             // of every token
  MatrixWork output_work;  // of a token whose logits are needed: of the last layer all but K and V, and the output
  std::vector<AttentionWork> attention_work;
  int num_threads = 0;
  std::string isa;
};

/// What an engine has done since it was loaded, what it is doing, and how full its memory is.
struct EngineStats {
  KvStats kv;  // hits and misses are of admitted prompts: what others computed of them, and what they looked for in
               // vain
  int waiting = 0;  // sequences that wait for memory or a seat, preempted ones too
  int running = 0;  // sequences that advance
  std::uint64_t steps = 0;
  std::uint64_t computed_tokens = 0;   // rows that went through the model
  std::uint64_t prompt_tokens = 0;     // of requests that were admitted
  std::uint64_t cached_tokens = 0;     // of these: computed by others, before or meanwhile
  std::uint64_t generated_tokens = 0;  // that callers were given
  std::uint64_t preemptions = 0;       // times a sequence stopped to make room for others, to go on later
  std::uint64_t preempted_blocks = 0;  // blocks that others took from such sequences
  std::uint64_t finished = 0;          // choices that ended, for whatever reason
  // Steps that had a prediction (itl_target_ms is not 0), in seconds
  double step_s = 0, predicted_step_s = 0;  // sums
  double step_error_s = 0;                  // sum of |real - predicted|
  double last_step_s = 0, last_predicted_step_s = 0;
};

class Engine {
 public:
  /// Loads a model and takes its memory. Errors name the file and what is wrong with it, or the option. What
  /// on_load_progress throws comes out of here.
  static Result<std::unique_ptr<Engine>> load(EngineOptions options);

  /// No thread may be inside a call. Requests that have not ended get no further event.
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  virtual const ModelInfo& info() const = 0;
  /// Any thread. While another thread is inside a step: as of the end of the step before it, or a little earlier.
  virtual EngineStats stats() const = 0;

  /// Takes a request; any thread. Errors: no tokens, a token outside the vocabulary, values out of range, a prompt
  /// that leaves no room in the context and max_tokens beyond that room (kContextOverflow; 0 takes what there is), more
  /// choices than can advance in one step, too much waiting (kQueueFull), after drain() (kDraining).
  /// `on_event` is called by step() and cancel(), on their thread, never by two at once; it may submit and cancel, must
  /// not throw, and a step() in it does nothing.
  virtual Result<RequestId> submit(Request request, TokenCallback on_event) = 0;

  /// Ends a request: the blocks of all its choices are free, then each choice that had not ended gets its last event
  /// (kCancelled). Any thread: at once where no other thread is inside a step, else before the next step computes
  /// anything; of several calls at the same time one may do it for the others. Unknown ids are ignored.
  virtual void cancel(RequestId id) = 0;

  /// Computes one step of all requests together. False when there is nothing to do. Where the system has no memory for
  /// a step, the requests that it was for end as kFailed.
  virtual bool step() = 0;

  /// Steps until every request is done.
  void run() {
    while (step()) {
    }
  }
  /// Steps, and sleeps while there is nothing to do, until `stop` is asked for (requests that are under way stay as
  /// they are), or after drain() the last request has ended.
  virtual void run_until(std::stop_token stop) = 0;

  /// From now on submit() refuses; what was taken goes on. Any thread; does not wait.
  virtual void drain() = 0;

  /// Gives KV memory that no request holds back to the system; with `cached` that of the prefix cache too, whose
  /// contents are lost. run_until() does so by itself (EngineOptions::idle_release_s). Any thread; waits for the step
  /// under way, and does nothing in a callback. Never changes an answer.
  virtual void release_memory([[maybe_unused]] bool cached) {}  // an engine without KV memory has nothing to give

  virtual Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const = 0;
  /// The bytes of the tokens; control tokens give their text, ids that the vocabulary lacks nothing.
  virtual std::string detokenize(std::span<const TokenId> tokens) const = 0;
  /// The prompt of a conversation, ending where the assistant begins. Errors: the model's template is missing or
  /// unknown; more tokens than `max_tokens`, if that is not 0 (as in TokenizeOptions).
  virtual Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages,
                                                           std::size_t max_tokens) const = 0;
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages) const {
    return apply_chat_template(messages, 0);
  }
  /// Sampling settings that the model's file asks for (general.sampling.*), over `defaults`.
  virtual SamplingParams default_sampling(SamplingParams defaults) const = 0;

 protected:
  Engine() = default;
};

}  // namespace octavo
