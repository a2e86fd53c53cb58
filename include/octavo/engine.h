// Octavo's public interface: load a model, submit requests, receive tokens.
//
//     auto engine = octavo::Engine::load({.model_path = "model.gguf"});
//     if (!engine) return report(engine.error().message);
//     octavo::Request request{.tokens = *(*engine)->tokenize("Once upon a time", {})};
//     (*engine)->submit(std::move(request), [](const octavo::TokenEvent& event) { std::cout << event.text; });
//     (*engine)->run();
//
// Any thread may submit, cancel, drain and ask for stats; one thread at a time drives the engine (step, run, run_until)
// and runs the callbacks. octavo/token_stream.h has requests whose events are pulled. The library never prints, never
// exits and reads no environment variable.
#pragma once

#include <array>
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

#include "octavo/bits.h"
#include "octavo/chat.h"
#include "octavo/constraint.h"
#include "octavo/device.h"
#include "octavo/draft.h"
#include "octavo/embedding.h"
#include "octavo/kv_stats.h"
#include "octavo/kv_type.h"
#include "octavo/prefill_priority.h"
#include "octavo/queue_bound.h"
#include "octavo/request.h"
#include "octavo/request_work.h"
#include "octavo/resources.h"
#include "octavo/result.h"
#include "octavo/step_profile.h"
#include "octavo/token.h"
#include "octavo/version.h"

namespace octavo {

/// The progress of loading, for a progress bar: the bytes of weights that are loaded, and those of the whole model.
struct LoadProgress {
  std::uint64_t done_bytes;
  std::uint64_t total_bytes;
};

struct EngineOptions {
  std::filesystem::path model_path = {};  // a GGUF file
  int num_threads = 0;                    // 0: one thread for each physical core that this process may use, at most
                                          // its cgroup's quota rounded down
  std::string isa = "auto";   // auto, scalar, avx2, avxvnni, avx512vnni, neon; an unsupported one is an error
  Bits bits = Bits::kNative;  // kPortable: answers have the same bits with each isa and on every machine
  /// The device that computes the first layers. A card gives the bits of `isa` and `bits`, so it changes no answer.
  Device device = Device::kCpu;
  int gpu_layers = -1;  // layers on the card at most, the first ones; more than there are: the output matrix, too; -1:
                        // all that it has room for
  KvType kv_type = kDefaultKvType;
  KvLayout kv_layout = KvLayout::kPaged;  // contiguous: one sequence runs at a time, and q8_0 is refused
  int block_size = 16;                    // tokens in a KV block of the paged layout: a power of two, 1 to 256
  std::uint64_t kv_memory_bytes = 0;      // hard budget of the KV arena, whose memory is taken as it is needed; 0: half
                                          // of the memory that is free after loading, but no more than is useful
  int max_context = 0;        // tokens of one sequence, prompt and answer; 0: the one that the model was trained for
  int max_step_tokens = 512;  // rows computed in one step at most; longer prompts are read in chunks
  int max_sequences = 256;    // sequences that advance in one step at most
  bool profile = false;       // EngineStats::profile is kept, which takes some microseconds of a step
  bool prefix_cache = true;   // prompts that begin alike share memory and work; never changes an answer
  /// While somebody waits for the next token, a step is filled up to this predicted time in milliseconds; engines that
  /// share threads (resources) divide the time by the number of those that have work. 0: max_step_tokens alone bounds a
  /// step, for one user who wants throughput; loading then measures nothing.
  double itl_target_ms = 50;
  /// The order in which a step's time is given out: prompts before answers, answers before prompts, or answers as long
  /// as there are any (a prompt that has waited long goes all the same). The policy never changes an answer.
  PrefillPriority policy = PrefillPriority::kInterleaved;
  /// The texts that an answer's next tokens are guessed from. Several guesses are verified in one step, as far as it
  /// has time left for them. kOff: nothing is guessed. Drafts never change an answer.
  DraftMode draft = DraftMode::kAuto;
  /// A file that drafts for the model, in place of a head in the model's file: a head alone, or an assistant, whose
  /// layers read the model's keys and values (gemma4-assistant). Loading fails where it is another model's. Empty:
  /// none.
  std::filesystem::path draft_path = {};
  int max_drafts = kMaxDraftTokens;  // tokens that a sequence drafts for a step, 1 to kMaxDraftTokens
  /// Seconds without work after which run_until() gives all KV memory back to the system, the prefix cache included;
  /// memory is taken again as it is needed. Blocks without contents lose their memory after 30 seconds. 0: the prefix
  /// cache stays.
  double idle_release_s = 600;
  /// The most requests that wait for their first step, and the most tokens of their prompts (a prompt counts once for
  /// each of its choices). A request beyond either bound is refused as kQueueFull, and one that could never wait as a
  /// wrong request. 0: no bound. One owner cannot take the whole queue (queue_bound.h).
  int max_queued = 1024;
  std::int64_t max_queued_tokens = std::int64_t{1} << 22;
  /// Loading packs the weights in the order that the processor wants, in memory of this process. Without repack the
  /// weights stay in the file, whose pages all processes share, and are packed each time they are used: the answers are
  /// the same and come later. The file must then stay as it is: touching a page that the file no longer has raises
  /// SIGBUS, which ends a process that does not handle the signal.
  bool repack = true;
  /// The pooling of requests that name none; none: the file's.
  std::optional<Pooling> pooling = {};
  /// The mix of types that floats of the file become as they are loaded: Q8_0, Q4_0, Q4_K_M or another mix of
  /// `octavo quantize`; the answers are those of a file that was quantized so. Empty: the floats stay. The mix needs
  /// repack.
  std::string quantize = {};
  /// Threads and KV memory that this engine shares with others; null: the engine has its own. With shared resources
  /// num_threads must be 0, and kv_memory_bytes is the part of their memory that this engine takes; 0: what is left.
  std::shared_ptr<Resources> resources = {};
  /// A file whose vocabulary is missing or of an unknown kind is refused. Otherwise it is loaded for token ids alone:
  /// calls that need the vocabulary are refused as kNoWords, and answers have no text.
  bool require_words = false;
  std::string chat_template = {};  // in Jinja, in place of the file's template; empty: the file's
  /// The text of a generation_config.json, whose settings go before the file's and whose eos_token_id end an answer
  /// beside the file's own end tokens; empty: none.
  std::string generation_config = {};
  std::filesystem::path tokenizer_path = {};  // a tokenizer.json, in place of the file's vocabulary; empty: the file's
  std::function<void(const LoadProgress&)> on_load_progress = {};  // called on the loading thread
  /// Asks the loading to stop, which then ends with an error (kStopped) at the next piece of the file's head, of its
  /// weights or of its vocabulary, or at the next timed step. A loaded engine does not look at the token.
  std::stop_token stop = {};
};

struct TokenizeOptions {
  bool add_special = true;    // BOS/EOS as the file says, unless the text already begins with BOS
  bool parse_special = true;  // control tokens written in the text become those tokens
  /// A text of more tokens is refused as kContextOverflow, at the cost of a text of max_tokens. 0: any number.
  std::size_t max_tokens = 0;
  RequestWork* work = nullptr;  // of the request that the text is for, which counts it and can stop it; null: none
};

/// The prompt of a conversation, ending where the assistant begins.
struct ChatPrompt {
  std::vector<TokenId> tokens = {};
  int generation_prompt_tokens = 0;  // tokens at the end of the prompt that only ask for an answer, as the template
                                     // writes them behind the last message
  bool ends_in_reasoning = false;    // the template has written an opening mark: ReasoningParams::begins_inside
};

/// A text with a gap, which the model is to fill.
struct InfillText {
  struct File {
    std::string name = {}, text = {};
  };
  std::string prefix = {}, suffix = {};  // the text before the gap, and the text behind it
  std::vector<File> files = {};          // other files of the project, the nearest ones last
  RequestWork* work = nullptr;           // as in TokenizeOptions
};

struct InfillPrompt {
  std::vector<TokenId> tokens = {};
  int files_left_out = 0;  // the number of first files that found no room
};

struct ModelWork;

/// A token that ends an answer.
struct EndToken {
  TokenId id = -1;
  std::string text = {};
  std::string source = {};  // the file's key for it, "chat template", or "its text" (a table has that text)
};

/// The facts about a model's file that lists of models show. What is not known is empty or 0.
struct ModelFile {
  std::string format = {};         // "gguf", or "safetensors"
  std::string weight_type = {};    // the mix that the file, or the option `quantize`, names (Q4_K_M); else the type of
                                   // most of its bytes
  std::string vocabulary = {};     // its kind, as GGUF calls it (tokenizer.ggml.model); empty: a folder's
  std::uint64_t num_weights = 0;   // of all its tensors
  std::uint64_t weight_bytes = 0;  // of these, as they stand in the file
  int context_length = 0;          // that the model was trained for
  int width = 0;                   // of an embedding
};

/// What a model's chat template reads of thinking.
struct ThinkingInfo {
  std::string name = {};  // the name, or the word in a system message, that turns it on and off; empty: there is none
  std::vector<std::string> efforts = {};  // levels of `reasoning_effort` that it takes; empty: it tells none apart
};

/// The model that was loaded.
struct ModelInfo {
  std::string name;         // general.name, at most 256 bytes; the file's name where it has none
  std::string file_name;    // without folders
  std::string file_hash;    // 32 hexadecimal digits over all metadata and weights; without repack over metadata, the
                            // file's size and time, and the beginning of each matrix
  std::string fingerprint;  // "fp_" and 16 digits over the build, the C library, the instruction set, file_hash and
                            // kv_type: requests with equal fingerprints and seeds get equal tokens; with portable bits
                            // "fp_portable_" and digits over the sources, file_hash and kv_type
  std::string architecture;
  ModelFile file = {};
  std::vector<EndToken> end_tokens = {};  // tokens that end an answer; none: limits and stops alone end it
  std::string reasoning = {};             // the family whose marks surround reasoning; empty: no known family
  ThinkingInfo thinking = {};             // requests say it by the names enable_thinking and reasoning_effort
  std::string tool_format = {};           // the form of calls of tools in answers; empty: there is no chat template
  std::string chat_template = {};         // in Jinja: the option's, or else the file's; empty: none
  EmbeddingInfo embedding = {};           // the vectors that it makes of texts
  bool fills_gaps = false;                // the vocabulary has the tokens that infill_prompt() needs
  int vocab_size = 0;
  int num_tokens = 0;  // ids that have a text; a model may pad its vocabulary beyond them
  int num_layers = 0;
  int max_context = 0;  // the context in force: the option's, or else the model's, or as much as the KV budget holds
  std::uint64_t weight_bytes = 0;
  std::uint64_t mapped_weight_bytes = 0;     // weights in the file's pages, not in memory of this process
  std::uint64_t weight_bytes_per_token = 0;  // weights that are read to compute one token alone
  std::uint64_t kv_bytes_per_token = 0;
  std::uint64_t kv_arena_bytes = 0;            // the size up to which the KV memory can grow
  std::uint64_t kv_memory_bytes = 0;           // the budget of KV memory: the option's, or the default that was chosen
  std::shared_ptr<const ModelWork> work = {};  // the work of a token, for estimates of speed (`octavo bench`)
  int num_threads = 0;
  std::string device = "cpu";   // or the card's name and what it computes
  bool device_has_all = false;  // that card computes all layers and the output matrix
  std::string isa;
  Bits bits = Bits::kNative;
};

/// Counts of an engine since it was loaded, its present state, and its memory.
struct EngineStats {
  KvStats kv;  // hits and misses count tokens of admitted prompts: those that others had computed, and those that were
               // looked for in vain
  int waiting = 0;  // sequences that wait for memory or for others to end, preempted ones included
  int running = 0;  // sequences that advance
  std::uint64_t steps = 0;
  std::uint64_t computed_tokens = 0;        // rows that went through the model
  std::uint64_t prompt_tokens = 0;          // tokens of the prompts of admitted requests
  std::uint64_t cached_tokens = 0;          // prompt tokens that other requests computed, before or meanwhile
  std::uint64_t diverged_prompts = 0;       // prompts that have RequestStats::diverged_at
  std::uint64_t generated_tokens = 0;       // tokens of answers that callers were given
  std::uint64_t drafts = 0;                 // times that drafted tokens of an answer had rows in a step
  std::uint64_t drafted_tokens = 0;         // these tokens
  std::uint64_t accepted_draft_tokens = 0;  // of these, tokens that were drawn then
  std::array<std::uint64_t, kMaxDraftTokens> accepted_drafts_at = {};  // the same, by place in their draft
  std::uint64_t preemptions = 0;       // times a sequence stopped to make room for others, to go on later
  std::uint64_t preempted_blocks = 0;  // blocks that others took from such sequences
  std::uint64_t finished = 0;          // choices that ended, for any reason
  std::uint64_t pinned_bytes = 0;      // KV memory of pinned prefixes (Request::pins)
  std::uint64_t constraint_bytes = 0;  // automata of constraints that are kept or that requests hold
  std::uint64_t mask_bytes = 0;        // masks of those constraints
  // Seconds of steps that had a prediction (itl_target_ms is not 0), without the wait for engines that share threads
  double step_s = 0, predicted_step_s = 0;  // sums
  double step_error_s = 0;                  // sum of |real - predicted|
  double last_step_s = 0, last_predicted_step_s = 0;
  int step_threads = 0;  // of the last step: fewer than ModelInfo::num_threads while others take CPUs; 0: no step yet
  StepProfile profile;   // where EngineOptions::profile is set
  std::string fault;     // the device has failed for good, so that all requests end with this; empty: it has not
};

class Engine {
 public:
  /// Loads a model and takes its memory. Errors name the file and its fault, or the option. An exception of
  /// on_load_progress passes through this function.
  static Result<std::unique_ptr<Engine>> load(EngineOptions options);

  /// No thread may be inside a call of the engine. Requests that have not ended get no further event.
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  virtual const ModelInfo& info() const = 0;
  /// Any thread may call it. While another thread is inside a step, the figures are at most as old as the last step.
  virtual EngineStats stats() const = 0;

  /// Takes a request; any thread may call it. Errors: no tokens, a token outside the vocabulary, values out of range,
  /// more choices than can advance in one step; a prompt that leaves no room in the context, and max_tokens beyond that
  /// room (kContextOverflow; 0 takes the room that there is); a full queue (kQueueFull); a call after drain()
  /// (kDraining). step() and cancel() call `on_event` on their thread, never two at once; the callback may submit and
  /// cancel, must not throw, and a step() within it does nothing.
  virtual Result<RequestId> submit(Request request, TokenCallback on_event) = 0;

  /// Ends a request: the blocks of all its choices become free, then each choice that had not ended gets its last event
  /// (kCancelled). Any thread may call it; the request ends at once where no other thread is inside a step, else before
  /// the next step computes anything. One of several simultaneous calls may serve them all. What an ended request
  /// has pinned (Request::pins) is given back. Unknown ids are ignored.
  virtual void cancel(RequestId id) = 0;

  /// Computes one step of all requests together. False: there is nothing to do. If the system has no memory for a
  /// step, the requests of that step end as kFailed.
  virtual bool step() = 0;

  /// Steps until every request is done.
  void run() {
    while (step()) {
    }
  }
  /// Steps, and sleeps while there is nothing to do, until a stop is requested (requests under way stay as they are)
  /// or, after drain(), the last request has ended.
  virtual void run_until(std::stop_token stop) = 0;

  /// From now on submit() refuses; requests that were taken go on. Any thread may call it, and it does not wait.
  virtual void drain() = 0;

  /// Gives KV memory that no request holds back to the system; with `cached` also the memory of the prefix cache, whose
  /// contents are lost. run_until() does so by itself (EngineOptions::idle_release_s). Any thread may call it: it waits
  /// for the step under way, does nothing in a callback, and never changes an answer.
  virtual void release_memory([[maybe_unused]] bool cached) {}  // an engine without KV memory has nothing to give

  /// Errors: too many tokens (TokenizeOptions); a vocabulary that is missing or of an unknown kind (kNoWords); those of
  /// `work`, here and below.
  virtual Result<std::vector<TokenId>> tokenize(std::string_view text, const TokenizeOptions& options) const = 0;
  /// The bytes of the tokens. Control tokens give their text; ids outside the vocabulary give nothing.
  virtual std::string detokenize(std::span<const TokenId> tokens) const = 0;
  /// A token as the vocabulary writes it, where a space may be "\u0120" or "\u2581"; empty: there is no such token.
  virtual std::string vocabulary_text(TokenId token) const { return detokenize({&token, 1}); }
  /// The prompt of a conversation, which is brought into the template's shape where possible. Errors: a template
  /// that is missing or wrong, refuses the conversation or writes no text; more tokens than max_tokens; kNoWords.
  virtual Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages,
                                                           const ChatTemplateOptions& options) const = 0;
  Result<std::vector<TokenId>> apply_chat_template(std::span<const ChatMessage> messages) const {
    return apply_chat_template(messages, {});
  }
  /// The prompt of a conversation with what a request has to know of it beside its tokens.
  virtual Result<ChatPrompt> chat_prompt(std::span<const ChatMessage> messages,
                                         const ChatTemplateOptions& options) const {
    Result<std::vector<TokenId>> tokens = apply_chat_template(messages, options);
    if (!tokens) return std::unexpected(std::move(tokens.error()));
    return ChatPrompt{.tokens = std::move(*tokens)};
  }
  /// The prompt of a gap that the model is to fill, of at most `max_tokens` tokens: the first files are left out where
  /// room is short. Errors: ModelInfo::fills_gaps is not set, kNoWords; more tokens than max_tokens (kContextOverflow).
  virtual Result<InfillPrompt> infill_prompt([[maybe_unused]] const InfillText& text,
                                             [[maybe_unused]] std::size_t max_tokens) const {
    return std::unexpected(Error{.message = "this engine fills no gaps", .kind = ErrorKind::kNoWords});
  }
  /// A text as the model's vectors are made of it, behind the words of the prompt that is asked for. Errors: a text
  /// that is longer than it may be and must not be cut (kContextOverflow); a prompt that the model has not; kNoWords.
  virtual Result<EmbeddingPrompt> embedding_prompt([[maybe_unused]] std::string_view text,
                                                   [[maybe_unused]] const EmbeddingPromptOptions& options) const {
    return std::unexpected(Error{.message = "this engine makes no vectors", .kind = ErrorKind::kNoWords});
  }
  /// A query and a document as the model's ranking head reads them, the query first: both in the file's template for
  /// them where there is one, whose document loses its end where it may be cut; else a pair of texts, of which the
  /// longer one does; in a vocabulary without a form for two, one text behind the other, and the document is cut.
  /// Errors as above; the model has no ranking head (kOther).
  virtual Result<EmbeddingPrompt> rank_prompt([[maybe_unused]] std::string_view query,
                                              [[maybe_unused]] std::string_view document,
                                              [[maybe_unused]] const EmbeddingPromptOptions& options) const {
    return std::unexpected(Error{.message = "this engine ranks nothing", .kind = ErrorKind::kNoWords});
  }
  /// The text of a conversation's prompt before it becomes tokens, without BOS unless the template writes BOS. Control
  /// tokens of the template cannot be told from the same text in a message.
  virtual Result<std::string> render_chat_template(std::span<const ChatMessage> messages,
                                                   const ChatTemplateOptions& options) const = 0;
  /// A constraint for requests to this engine. Any thread may call it; a source that is remembered is not compiled
  /// again. Errors: a source that cannot be read or is too large, with the place; kNoWords; a compile of more counted
  /// steps than the bound, which the error names; a stop that `stop` asked for (kStopped). The compile looks at `stop`
  /// many times a second.
  virtual Result<std::shared_ptr<const Constraint>> compile_constraint(
      [[maybe_unused]] const ConstraintSource& source, [[maybe_unused]] const std::stop_token& stop = {}) const {
    return std::unexpected(Error{.message = "this engine has no words to constrain", .kind = ErrorKind::kNoWords});
  }
  /// Finds the tokens that end DRY's repetitions under these parameters, by a look at the whole vocabulary. submit()
  /// looks itself unless the result of a call with the same breakers is held. Null: there is nothing to find. Any
  /// thread may call it.
  virtual std::shared_ptr<const void> find_dry_breakers([[maybe_unused]] const SamplingParams& params) const {
    return nullptr;
  }
  /// `defaults` with the sampling settings that the model asks for: those of EngineOptions::generation_config, then
  /// general.sampling.* of its file.
  virtual SamplingParams default_sampling(SamplingParams defaults) const = 0;

 protected:
  Engine() = default;
};

}  // namespace octavo
