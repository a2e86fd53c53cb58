// Octavo's public interface: load a model, submit requests, receive tokens.
//
//     auto engine = octavo::Engine::load({.model_path = "model.gguf"});
//     if (!engine) return report(engine.error().message);
//     octavo::Request request{.tokens = *(*engine)->text()->tokenize("Once upon a time", {})};
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
#include <stop_token>
#include <string>
#include <utility>

#include "octavo/bits.h"
#include "octavo/device.h"
#include "octavo/draft.h"
#include "octavo/embedding.h"
#include "octavo/kv_events.h"
#include "octavo/kv_stats.h"
#include "octavo/kv_store.h"
#include "octavo/kv_type.h"
#include "octavo/model_info.h"
#include "octavo/model_text.h"
#include "octavo/picture.h"
#include "octavo/prefill_priority.h"
#include "octavo/prompt_queue.h"
#include "octavo/queue_bound.h"
#include "octavo/request.h"
#include "octavo/resources.h"
#include "octavo/result.h"
#include "octavo/step_profile.h"
#include "octavo/version.h"

namespace octavo {

/// The progress of loading, for a progress bar: the bytes of weights that are loaded so far, and of the whole model.
struct LoadProgress {
  std::uint64_t done_bytes;
  std::uint64_t total_bytes;
};

struct EngineOptions {
  std::filesystem::path model_path = {};  // a GGUF file
  int num_threads = 0;                    // 0: one thread for each physical core that this process may use, at most
                                          // its cgroup's quota rounded down
  std::string isa =
      "auto";  // auto, scalar, avx2, avxvnni, avx512vnni, amx, amxbf16, neon; an unsupported one is an error
  Bits bits = Bits::kNative;  // kPortable: answers have the same bits with each isa and on every machine
  /// The device that computes the first layers. A GPU gives the bits of `isa` and `bits`, so it changes no answer.
  Device device = Device::kCpu;
  int gpu_layers = -1;  // the most layers on the GPU, the first ones; more than there are: also the output matrix;
                        // -1: as many as the GPU has room for
  KvType kv_type = kDefaultKvType;
  KvLayout kv_layout = KvLayout::kPaged;  // contiguous: one sequence runs at a time, and q8_0 is refused
  int block_size = 16;                    // tokens in a KV block of the paged layout: a power of two, 1 to 256
  std::uint64_t kv_memory_bytes = 0;      // hard budget of the KV arena, whose memory is taken as it is needed; 0: half
                                          // of the memory that is free after loading, but no more than is useful
  int max_context = 0;        // the tokens of one sequence, prompt and answer; 0: as many as the model was trained for
  int max_step_tokens = 512;  // the most rows that one step computes; longer prompts are read in chunks
  int max_sequences = 256;    // the most sequences that advance in one step
  bool profile = false;       // whether EngineStats::profile is kept, which takes some microseconds per step
  /// A file with the encoder of pictures (mmproj-*.gguf), or a folder of safetensors that has one; it must fit the
  /// model. Empty: an encoder that is found is used, or else the model reads only texts.
  std::filesystem::path mmproj_path = {};
  /// Whether an encoder is looked for where mmproj_path is empty. It is the one in the model's own folder of
  /// safetensors; or else, for a model that sees, a file in the model's folder that has mmproj in its name and fits the
  /// model: of several the one whose weights have about as many bits as the model's.
  bool finds_mmproj = true;
  /// The most memory of encoded pictures, which are kept while there is room. A picture that does not fit is refused.
  std::uint64_t picture_memory_bytes = std::uint64_t{256} << 20;
  int image_min_tokens = 0, image_max_tokens = 0;  // the tokens of a picture that asks for none; 0: the family's own
  PictureBounds picture_bounds = {};
  /// A directory that keeps prefixes beyond the engine's life, so that they are read instead of being computed. It
  /// never changes an answer. Loading fails where the directory is open to other users; with a device, contiguous
  /// layout, no prefix cache or no repack nothing is kept, of which on_warning is told.
  KvStoreSettings kv_store = {};
  /// Tells others which blocks can be found. Error where the model has no prefix cache, or none without a window.
  KvEventsSettings kv_events = {};
  bool prefix_cache = true;  // prompts that begin alike share memory and work; never changes an answer
  /// While somebody waits for the next token, a step is filled up to this predicted time in milliseconds; engines that
  /// share threads (resources) divide the time by the number of engines that have work. 0: only max_step_tokens bounds
  /// a step, for one user who wants throughput; loading then measures nothing.
  double itl_target_ms = 50;
  /// The order in which a step's time is given out: prompts before answers, answers before prompts, or prompts only
  /// when no answer waits (but a prompt that has waited long goes all the same). The policy never changes an answer.
  PrefillPriority policy = PrefillPriority::kInterleaved;
  /// The texts that an answer's next tokens are guessed from. Several guesses are verified in one step, as far as it
  /// has time left for them. kOff: nothing is guessed. Drafts never change an answer.
  DraftMode draft = DraftMode::kAuto;
  /// A file that drafts for the model, in place of a head in the model's file: a head alone, or an assistant whose
  /// layers read the model's keys and values (gemma4-assistant). Loading fails where it belongs to another model.
  /// Empty: none.
  std::filesystem::path draft_path = {};
  int max_drafts = kMaxDraftTokens;  // the most tokens that a sequence drafts for a step, 1 to kMaxDraftTokens
  /// Seconds without work after which run_until() gives all KV memory back to the system, the prefix cache included;
  /// memory is taken again as it is needed. Blocks without contents lose their memory after 30 seconds. 0: the prefix
  /// cache stays.
  double idle_release_s = 600;
  /// The most requests that wait for their first step, and the most tokens of their prompts (a prompt counts once for
  /// each of its choices). A request beyond either bound is refused as kQueueFull, and one that could never wait is
  /// refused as wrong. 0: no bound. No single owner can take the whole queue (queue_bound.h).
  int max_queued = 1024;
  std::int64_t max_queued_tokens = std::int64_t{1} << 22;
  /// Whether loading packs the weights in the order that the processor wants, in memory of this process. Without repack
  /// the weights stay in the file, whose pages all processes share, and are packed each time they are used: the answers
  /// are the same but come later. The file must then stay as it is: touching a page that the file no longer has raises
  /// SIGBUS, which ends a process that does not handle the signal.
  bool repack = true;
  /// The pooling of requests that name none; none: the file's pooling.
  std::optional<Pooling> pooling = {};
  /// The mix of types to which floats of the file are quantized at load: Q8_0, Q4_0, Q4_K_M or another mix of `octavo
  /// quantize`; the answers are those of a file that was quantized so. Empty: floats stay floats. The mix needs repack.
  std::string quantize = {};
  /// Threads and KV memory that this engine shares with others; null: the engine has its own. With shared resources
  /// num_threads must be 0, and kv_memory_bytes is the part of their memory that this engine takes; 0: what is left.
  std::shared_ptr<Resources> resources = {};
  /// Whether a file whose vocabulary is missing or of an unknown kind is refused. Otherwise it is loaded for token ids
  /// alone: calls that need the vocabulary are refused as kNoWords, and answers have no text.
  bool require_words = false;
  std::string chat_template = {};  // Jinja source in place of the file's template; empty: the file's
  /// The text of a generation_config.json. Its settings go before the file's, and its eos_token_id end an answer beside
  /// the file's own end tokens. Empty: none.
  std::string generation_config = {};
  std::filesystem::path tokenizer_path = {};  // a tokenizer.json in place of the file's vocabulary; empty: the file's
  std::function<void(const LoadProgress&)> on_load_progress = {};  // called on the loading thread
  /// Stops the loading, which then ends with an error (kStopped) at the next piece of the file's head, of its weights
  /// or of its vocabulary, or at the next timed step. A loaded engine ignores the token.
  std::stop_token stop = {};
};

/// The counts of pictures since the engine was loaded.
struct PictureCounts {
  std::uint64_t encoded = 0;  // pictures whose vectors were computed
  std::uint64_t found = 0;    // pictures of requests whose vectors other requests had computed
  double encode_s = 0;        // the seconds of computing them
  std::uint64_t bytes = 0;    // the bytes of vectors that are kept now
};

/// The counts of an engine since it was loaded, its present state, and its memory.
struct EngineStats {
  KvStats kv;       // hits and misses count tokens of admitted prompts: those found computed, and those that were
                    // looked for in vain
  int waiting = 0;  // sequences that wait for memory or for others to end, preempted ones included
  int running = 0;  // sequences that advance
  int threads = 0;  // the threads that compute: all, or fewer while the process may use fewer CPUs than at its start
  std::uint64_t steps = 0;
  std::uint64_t computed_tokens = 0;        // rows that went through the model
  std::uint64_t prompt_tokens = 0;          // prompt tokens of admitted requests
  std::uint64_t cached_tokens = 0;          // prompt tokens that other requests computed, before or meanwhile
  std::uint64_t diverged_prompts = 0;       // prompts that have RequestStats::diverged_at
  std::uint64_t generated_tokens = 0;       // tokens of answers that callers were given
  std::uint64_t drafts = 0;                 // the times that drafted tokens of an answer had rows in a step
  std::uint64_t drafted_tokens = 0;         // the drafted tokens that had rows
  std::uint64_t accepted_draft_tokens = 0;  // the drafted tokens that were then drawn
  std::array<std::uint64_t, kMaxDraftTokens> accepted_drafts_at = {};  // the same, by their place in the draft
  std::uint64_t preemptions = 0;       // the times that a sequence stopped to make room for others, to go on later
  std::uint64_t preempted_blocks = 0;  // the blocks that others took from such sequences
  std::uint64_t finished = 0;          // choices that ended, for any reason
  std::uint64_t pinned_bytes = 0;      // the KV memory of pinned prefixes (Request::pins)
  std::uint64_t constraint_bytes = 0;  // the automata of constraints that are kept or that requests hold
  std::uint64_t mask_bytes = 0;        // the masks of those constraints
  // The seconds of steps that had a prediction (itl_target_ms is not 0), without the wait for engines that share
  // threads.
  double step_s = 0, predicted_step_s = 0;  // sums
  double step_error_s = 0;                  // the sum of |real - predicted|
  double last_step_s = 0, last_predicted_step_s = 0;
  KvStoreCounts kv_store;
  PictureCounts pictures;
  PromptQueue prompts;  // the prompts that are still to be computed
  StepProfile profile;  // where EngineOptions::profile is set
  std::string fault;    // why the device has failed for good, with which all requests end; empty: it has not
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

  /// The model's texts, which may outlive the engine; never null.
  const std::shared_ptr<const ModelText>& text() const { return text_; }
  const ModelInfo& info() const { return text_->info(); }
  /// The engine's figures. Any thread may call it; while another thread is inside a step, they are at most as old as
  /// the last step.
  virtual EngineStats stats() const = 0;

  /// Takes a request; any thread may call it. Errors: no tokens, a token outside the vocabulary, values out of range,
  /// more choices than can advance in one step; a prompt that leaves no room in the context, or max_tokens beyond that
  /// room (kContextOverflow; 0 takes the room that there is); a full queue (kQueueFull); a call after drain()
  /// (kDraining). step() and cancel() call `on_event` on their thread, never two at once; the callback may submit and
  /// cancel, must not throw, and a step() within it does nothing.
  virtual Result<RequestId> submit(Request request, TokenCallback on_event) = 0;

  /// Ends a request: the blocks of all its choices become free, then each choice that had not ended gets its last event
  /// (kCancelled). Any thread may call it; the request ends at once where no other thread is inside a step, otherwise
  /// before the next step computes anything. One of several simultaneous calls may serve them all. What an ended
  /// request has pinned (Request::pins) is given back. Unknown ids are ignored.
  virtual void cancel(RequestId id) = 0;

  /// Computes one step of all requests together. False: there was nothing to do. If the system has no memory for a
  /// step, the requests of that step end as kFailed.
  virtual bool step() = 0;

  /// Steps until every request is done.
  void run() {
    while (step()) {
    }
  }
  /// Computes steps, and sleeps while there is nothing to do, until a stop is requested (unfinished requests stay as
  /// they are) or, after drain(), the last request has ended.
  virtual void run_until(std::stop_token stop) = 0;

  /// Makes submit() refuse requests from now on; those that were taken go on. Any thread may call it, and it does not
  /// wait.
  virtual void drain() = 0;

  /// Gives the KV memory that no request holds back to the system; with `cached` also the memory of the prefix cache,
  /// whose contents are lost. run_until() does so by itself (EngineOptions::idle_release_s). Any thread may call it: it
  /// waits for a step in progress, does nothing in a callback, and never changes an answer.
  virtual void release_memory([[maybe_unused]] bool cached) {}  // an engine without KV memory has nothing to give

 protected:
  explicit Engine(std::shared_ptr<const ModelText> text) : text_(std::move(text)) {}

 private:
  const std::shared_ptr<const ModelText> text_;
};

}  // namespace octavo
