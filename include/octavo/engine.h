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

#include "octavo/chat.h"
#include "octavo/constraint.h"
#include "octavo/kv/paged_kv_cache.h"
#include "octavo/kv/prefill.h"
#include "octavo/kv/types.h"
#include "octavo/queue_bound.h"
#include "octavo/request.h"
#include "octavo/resources.h"
#include "octavo/result.h"
#include "octavo/version.h"

namespace octavo {

/// The progress of loading, for a progress bar: done of total bytes of weights.
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
  /// A step is filled up to this predicted time, in milliseconds, if somebody waits for the next token; where engines
  /// share threads (resources), divided by the number of those that have work. 0: steps are bounded by max_step_tokens
  /// alone, for one user who wants throughput; loading then measures nothing.
  double itl_target_ms = 50;
  /// The order in which a step's time is given: prompts before answers, answers and then prompts, or answers as long as
  /// there are any (a prompt that has waited long goes all the same). Never changes an answer.
  PrefillPriority policy = PrefillPriority::kInterleaved;
  /// Seconds without work after which run_until() gives all KV memory back to the system, the prefix cache included; it
  /// is taken again as it is needed. Memory of blocks without contents goes after 30 seconds. 0: the prefix cache
  /// stays.
  double idle_release_s = 600;
  /// Requests that were never admitted yet, and tokens of their prompts, a prompt counted once for each of its choices.
  /// A request beyond either is refused as kQueueFull, and one that would be so alone, always, as a wrong one. 0: no
  /// bound. One owner cannot take all of it (queue_bound.h).
  int max_queued = 1024;
  std::int64_t max_queued_tokens = std::int64_t{1} << 22;
  /// Weights are brought into the order that the processor wants, in memory of this process. Without it they stay in
  /// the file, whose pages all processes share, and are brought into order each time they are used: slower, same
  /// answer. The file must stay as it is then: touching a page that it no longer has raises SIGBUS, which ends a
  /// process that does not handle it.
  bool repack = true;
  /// Weights that are floats in the file become these types as they are loaded: Q8_0, Q4_0, Q4_K_M or another mix of
  /// `octavo quantize`, whose answers are those of a file that was quantized so. Empty: they stay as they are. Needs
  /// repack.
  std::string quantize = {};
  /// Threads and KV memory that this engine shares with others; null: it has its own. With it num_threads must be 0,
  /// and kv_memory_bytes is what this engine takes of theirs; 0: what is left.
  std::shared_ptr<Resources> resources = {};
  /// A file whose words are missing or of an unknown kind is refused. Without it the file is loaded for token ids: what
  /// needs words is then refused as kNoWords, and answers have no text.
  bool require_words = false;
  std::string chat_template = {};  // in Jinja, instead of the file's own; empty: that one
  /// The text of a generation_config.json, whose settings go before the file's; empty: none. Its eos_token_id end an
  /// answer beside the file's own end tokens.
  std::string generation_config = {};
  std::filesystem::path tokenizer_path = {};  // a tokenizer.json, instead of the file's own words; empty: those
  std::function<void(const LoadProgress&)> on_load_progress = {};  // called on the loading thread
  /// Loading that is asked to stop ends with an error (kStopped), at the next piece of the file's head or of its
  /// weights, part of its words, or timed step. Once the engine is there it says nothing more.
  std::stop_token stop = {};
};

struct TokenizeOptions {
  bool add_special = true;    // BOS/EOS as the file says, unless the text already begins with BOS
  bool parse_special = true;  // control tokens written in the text become those tokens
  /// A text of more is refused as kContextOverflow, and costs no more than one of so many. 0: any number.
  std::size_t max_tokens = 0;
};

/// The prompt of a conversation, ending where the assistant begins.
struct ChatPrompt {
  std::vector<TokenId> tokens = {};
  int generation_prompt_tokens = 0;  // of these: the last ones, which only ask for an answer: what the template writes
                                     // behind the last message
  bool ends_in_reasoning = false;    // the template has written an opening mark: ReasoningParams::begins_inside
};

/// A text with a gap, which the model is to fill.
struct InfillText {
  struct File {
    std::string name = {}, text = {};
  };
  std::string prefix = {}, suffix = {};  // what stands before the gap, and behind it
  std::vector<File> files = {};          // others, the nearest ones last
};

struct InfillPrompt {
  std::vector<TokenId> tokens = {};
  int files_left_out = 0;  // of the first ones, for want of room
};

struct ModelWork;

/// A token that ends an answer.
struct EndToken {
  TokenId id = -1;
  std::string text = {};
  std::string source = {};  // the file's key that names it, "chat template", or "its text" where a table has that
};

/// The model that was loaded.
struct ModelInfo {
  std::string name;         // general.name, at most 256 bytes; the file's name where it has none
  std::string file_name;    // without folders
  std::string file_hash;    // 32 hexadecimal digits: of all metadata and weights; without repack of the metadata, the
                            // file's size and time, and the beginning of each matrix
  std::string fingerprint;  // "fp_" and 16 digits: where it, the request and the seed are equal, tokens are. Of the
                            // build, the C library, the instruction set, the file's hash and kv_type
  std::string architecture;
  std::vector<EndToken> end_tokens = {};  // an answer ends at any of these; none: at limits and stops alone
  std::string reasoning = {};             // the family whose marks are around reasoning; empty: none that is known
  std::string tool_format = {};           // the way in which answers call tools; empty: there is no chat template
  std::string chat_template = {};         // in Jinja: the option's, or the file's; empty: none
  bool fills_gaps = false;                // infill_prompt() has tokens for it
  int vocab_size = 0;
  int num_tokens = 0;  // ids that have a text: the tokenizer's, where the model pads its vocabulary beyond them
  int num_layers = 0;
  int max_context = 0;  // in force: the option's; without one the model's, or what the KV budget can hold
  std::uint64_t weight_bytes = 0;
  std::uint64_t mapped_weight_bytes = 0;     // of these: in the file's pages, not in memory of this process
  std::uint64_t weight_bytes_per_token = 0;  // weights read to compute one token alone
  std::uint64_t kv_bytes_per_token = 0;
  std::uint64_t kv_arena_bytes = 0;            // the most that the KV memory can grow to
  std::uint64_t kv_memory_bytes = 0;           // its budget: the option's, or what that was without one
  std::shared_ptr<const ModelWork> work = {};  // of a token, for estimates of speed: `octavo bench` reads it
  int num_threads = 0;
  std::string isa;
};

/// Counts of an engine since it was loaded, its present state, and its memory.
struct EngineStats {
  KvStats kv;  // hits and misses are of admitted prompts: what others computed of them, and what they looked for in
               // vain
  int waiting = 0;  // sequences that wait for memory or a seat, preempted ones too
  int running = 0;  // sequences that advance
  std::uint64_t steps = 0;
  std::uint64_t computed_tokens = 0;   // rows that went through the model
  std::uint64_t prompt_tokens = 0;     // of requests that were admitted
  std::uint64_t cached_tokens = 0;     // of these: computed by others, before or meanwhile
  std::uint64_t diverged_prompts = 0;  // that have RequestStats::diverged_at
  std::uint64_t generated_tokens = 0;  // that callers were given
  std::uint64_t preemptions = 0;       // times a sequence stopped to make room for others, to go on later
  std::uint64_t preempted_blocks = 0;  // blocks that others took from such sequences
  std::uint64_t finished = 0;          // choices that ended, for whatever reason
  std::uint64_t constraint_bytes = 0;  // of the automata of constraints that are kept or that requests hold
  std::uint64_t mask_bytes = 0;        // of the masks that were found for them
  // Steps that had a prediction (itl_target_ms is not 0), in seconds, without the wait for engines that share threads
  double step_s = 0, predicted_step_s = 0;  // sums
  double step_error_s = 0;                  // sum of |real - predicted|
  double last_step_s = 0, last_predicted_step_s = 0;
};

class Engine {
 public:
  /// Loads a model and takes its memory. Errors name the file and what is wrong with it, or the option. An exception of
  /// on_load_progress comes out of here.
  static Result<std::unique_ptr<Engine>> load(EngineOptions options);

  /// No thread may be inside a call. Requests that have not ended get no further event.
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  virtual const ModelInfo& info() const = 0;
  /// Any thread. While another thread is inside a step: as of the end of the step before it, or a little earlier.
  virtual EngineStats stats() const = 0;

  /// Takes a request; any thread. Errors: no tokens, a token outside the vocabulary, values out of range, more choices
  /// than can advance in one step; a prompt that leaves no room in the context and max_tokens beyond that room
  /// (kContextOverflow; 0 takes the room that there is); too much waiting (kQueueFull), after drain() (kDraining).
  /// `on_event` is called by step() and cancel(), on their thread, never by two at once; it may submit and cancel, must
  /// not throw, and a step() in it does nothing.
  virtual Result<RequestId> submit(Request request, TokenCallback on_event) = 0;

  /// Ends a request: the blocks of all its choices are free, then each choice that had not ended gets its last event
  /// (kCancelled). Any thread: at once where no other thread is inside a step, else before the next step computes
  /// anything; of several calls at the same time one may do it for the others. Unknown ids are ignored.
  virtual void cancel(RequestId id) = 0;

  /// Computes one step of all requests together. False when there is nothing to do. If the system has no memory for a
  /// step, the requests that it was for end as kFailed.
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

  /// Errors: as in TokenizeOptions; the model's words are missing or of an unknown kind (kNoWords).
  virtual Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const = 0;
  /// The bytes of the tokens; control tokens give their text, ids that the vocabulary lacks nothing.
  virtual std::string detokenize(std::span<const TokenId> tokens) const = 0;
  /// The prompt of a conversation. Errors: the model's template is missing or wrong, or refuses the conversation, which
  /// is brought into its shape as far as it goes, or makes no text of it; more tokens than max_tokens; kNoWords.
  virtual Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages,
                                                           const ChatTemplateOptions& options) const = 0;
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages) const {
    return apply_chat_template(messages, {});
  }
  /// The same, and what a request has to know of the prompt beside its tokens.
  virtual Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                         const ChatTemplateOptions& options) const {
    Result<std::vector<TokenId>> tokens = apply_chat_template(messages, options);
    if (!tokens) return std::unexpected(std::move(tokens.error()));
    return ChatPrompt{.tokens = std::move(*tokens)};
  }
  /// The prompt of a gap that the model is to fill, of at most `max_tokens`: other files are left out for that, the
  /// first ones first. Errors: ModelInfo::fills_gaps is not set, kNoWords; more tokens (kContextOverflow).
  virtual Result<InfillPrompt> infill_prompt([[maybe_unused]] const InfillText& text,
                                             [[maybe_unused]] std::size_t max_tokens) const {
    return std::unexpected(Error{.message = "this engine fills no gaps", .kind = ErrorKind::kNoWords});
  }
  /// The text of a conversation's prompt, before it becomes tokens: without BOS, unless the template writes it. Control
  /// tokens of the template cannot be told from the same text in a message.
  virtual Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                                   const ChatTemplateOptions& options) const = 0;
  /// A constraint for requests to this engine. Any thread; the same source is compiled once, as long as it is
  /// remembered. Errors: a source that cannot be read, or is too large to be followed, with the place; kNoWords; a
  /// compile that takes more than a bound of counted steps, which the error names, or that `stop` ends
  /// (kStopped). The token is asked many times a second.
  virtual Result<std::shared_ptr<const Constraint>> compile_constraint(
      [[maybe_unused]] const ConstraintSource& source, [[maybe_unused]] const std::stop_token& stop = {}) const {
    return std::unexpected(Error{.message = "this engine has no words to constrain", .kind = ErrorKind::kNoWords});
  }
  /// Sampling settings that the model asks for (EngineOptions::generation_config, then general.sampling.* of its file),
  /// over `defaults`.
  virtual SamplingParams default_sampling(SamplingParams defaults) const = 0;

 protected:
  Engine() = default;
};

}  // namespace octavo
