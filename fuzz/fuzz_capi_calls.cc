// Sequences of calls of the C interface, right and wrong ones, on a tiny model: each gives a status, and nothing else
// happens: nothing behind a struct's size is read, and models end in a bounded number of steps. A byte of input chooses
// a call, the next one its arguments. Callbacks call, too.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "octavo.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"
#include "support/tiny_vocab.h"

namespace {

/// What hears a queue's events, until the queue is closed: a call back behind that would be a use after free. The first
/// callback calls something.
struct Listener {
  std::atomic<bool> has_called = false;
  std::uint8_t does = 0;
  octavo_handle model = 0, handle = 0;

  static void hear(void* user, octavo_events* events) {
    auto& here = *static_cast<Listener*>(user);
    const std::uint64_t request = events->count == 0 ? 0 : events->events[0].request;
    octavo_events_free(events);
    if (!here.has_called.exchange(true)) here.call(request);
  }

 private:
  void call(std::uint64_t request) const {
    octavo_events* events = nullptr;
    octavo_request asked = {};
    asked.size = sizeof asked;
    asked.body = R"({"prompt": [1, 2], "max_tokens": 2})";
    switch (does % 8) {
      case 0: octavo_close(handle); return;
      case 1: octavo_close(model); return;
      case 2: octavo_cancel(model, request); return;
      case 3: octavo_submit(model, handle, &asked, nullptr); return;
      case 4: octavo_poll(handle, -1, &events); return octavo_events_free(events);
      case 5: octavo_step(model, nullptr); return;
      case 6: octavo_release_memory(model, 1); return;
      default: return;
    }
  }
};

/// Most steps until a model has nothing to do: no sequence asks for as many tokens.
constexpr int kMostSteps = 100'000;

/// A struct of a caller, of which memory holds as much as `size` says: that of a version, or another one.
template <class T>
class Sized {
 public:
  Sized(T given, std::uint8_t argument) : memory_(sizeof(T) / sizeof(std::uint64_t) + 1) {
    given.size = argument % 4 != 3 ? sizeof(T) : argument % (sizeof(T) + 1);
    memory_.resize((std::max(given.size, sizeof given.size) + 7) / 8);
    memory_.shrink_to_fit();
    std::memcpy(memory_.data(), &given, std::min(sizeof given, memory_.size() * 8));
  }
  T* get() { return reinterpret_cast<T*>(memory_.data()); }

 private:
  std::vector<std::uint64_t> memory_;
};

/// A number of elements: one that there is, or one that was negative.
std::size_t count_of(std::size_t count, std::uint8_t argument) {
  return argument % 29 == 28 ? ~std::size_t{0} - argument / 64 : count;
}

/// What the sequence works on. Handles of what was closed stay in the list: calls with them are part of the game.
struct Session {
  std::vector<octavo_handle> models = {0}, queues = {0}, constraints = {0};
  std::deque<Listener> listeners = {};
  std::uint64_t request = 0;
};

octavo_handle chosen(const std::vector<octavo_handle>& handles, std::uint8_t argument) {
  return handles[argument % handles.size()];
}

void load(Session& session, std::uint8_t argument) {
  using octavo::test::GgufWriter, octavo::test::TinyModel, octavo::test::TinyVocab;
  const auto add_words = [](GgufWriter& keys) { TinyVocab(40).add_to(keys); };
  static const octavo::test::TempFile file(
      TinyModel{.layers = 1, .width = 32, .vocab = 40, .extra = add_words}.bytes());
  static const octavo::test::TempFile wrong("GGUF and no more");
  const std::string path = argument % 7 == 6 ? wrong.string() : file.string();
  std::vector<const char*> options = {"--threads", "1", "--kv-memory", "1MiB", "--embedding"};
  if (argument % 5 == 4) options.push_back("--nonsense");
  octavo_load_options asked = {};
  asked.model = path.c_str();
  asked.options = options.data();
  asked.num_options = count_of(options.size(), argument);
  asked.is_driven = argument % 2;
  octavo_handle model = 0;
  // A size without the options asks for memory that a small machine may not have.
  Sized sized(asked, argument >= 128 ? argument : std::uint8_t{0});
  if (sized.get()->size >= offsetof(octavo_load_options, model) &&
      sized.get()->size < offsetof(octavo_load_options, shows_progress))
    return;
  if (session.models.size() < 4 && octavo_load(sized.get(), &model) == OCTAVO_OK) session.models.push_back(model);
}

void submit(Session& session, std::uint8_t argument) {
  static constexpr std::array<const char*, 8> kBodies = {R"({"max_tokens": 3})",
                                                         R"({"max_tokens": 2, "n": 3, "stream": true})",
                                                         "{",
                                                         R"({"prompt": [1, 2, 99999]})",
                                                         R"({"max_tokens": 40, "temperature": 2})",
                                                         R"({"prompt": "words"})",
                                                         "[]",
                                                         nullptr};
  static constexpr std::array<std::int32_t, 6> kTokens = {1, 2, 3, 5, 7, -1};
  octavo_request request = {};
  request.body = kBodies[argument % kBodies.size()];
  request.api = argument % 13 == 12 ? "/v1/embeddings" : argument % 17 == 16 ? "/nowhere" : nullptr;
  request.tokens = kTokens.data();
  request.num_tokens = argument % 7;
  if (request.num_tokens == 6 && argument % 2 == 0) request.num_tokens = 5;
  request.form = argument / 16 % 3;
  request.wants_logits = argument / 64 % 2;
  request.pins = argument / 32 % 2;
  request.num_tokens = count_of(request.num_tokens, argument);
  octavo_submit(chosen(session.models, argument / 2), chosen(session.queues, argument), Sized(request, argument).get(),
                &session.request);
}

void open_queue(Session& session, std::uint8_t argument) {
  octavo_queue_options options = {};
  Listener& listener = session.listeners.emplace_back();
  listener.does = argument / 8;
  listener.model = chosen(session.models, argument);
  listener.handle = chosen(session.queues, argument / 3);
  options.user = &listener;
  options.max_waiting_bytes = argument % 5 == 4 ? 1000 : 0;
  if (argument % 3 != 0) options.on_events = Listener::hear;
  octavo_handle queue = 0;
  Sized sized(options, argument);
  // A callback without its user would be one that the caller has not.
  if (sized.get()->size < offsetof(octavo_queue_options, max_waiting_bytes) && options.on_events != nullptr) return;
  if (octavo_queue_open(sized.get(), &queue) == OCTAVO_OK) session.queues.push_back(queue);
}

void poll(Session& session, std::uint8_t argument) {
  octavo_events* events = nullptr;
  octavo_poll(chosen(session.queues, argument), argument % 16 == 15 ? 1 : 0, &events);
  octavo_events_free(events);
}

void close(std::vector<octavo_handle>& handles, std::uint8_t argument) { octavo_close(chosen(handles, argument)); }

void ask_for_words(Session& session, std::uint8_t argument) {
  std::array<std::int32_t, 4> tokens = {1, 2, argument, -5};
  std::size_t count = 0;
  octavo_tokenize(chosen(session.models, argument), "a text", 0, argument % 5, tokens.data(), argument % 5, &count);
  octavo_text text = {};
  octavo_detokenize(chosen(session.models, argument), tokens.data(), count_of(argument % 4, argument), &text);
  octavo_text_free(&text);
  octavo_answer(chosen(session.models, argument), argument % 2 == 0 ? "/tokenize" : "/other", R"({"prompt": "a"})",
                count_of(0, argument), &text);
  octavo_text_free(&text);
}

void call(Session& session, std::uint8_t which, std::uint8_t argument) {
  octavo_handle handle = 0;
  std::int32_t number = 0;
  std::array<std::uint32_t, 2> words = {};
  switch (which % 12) {
    case 0: return load(session, argument);
    case 1: return open_queue(session, argument);
    case 2:
    case 3:
    case 4: return submit(session, argument);
    case 5: return poll(session, argument);
    case 6: octavo_cancel(chosen(session.models, argument), session.request + argument % 2); return;
    case 7: octavo_step(chosen(session.models, argument), &number); return;
    case 8: return argument % 3 == 0 ? close(session.models, argument) : close(session.queues, argument);
    case 9: return ask_for_words(session, argument);
    case 10: octavo_stats(chosen(session.models, argument), Sized(octavo_counts{}, argument).get()); return;
    default:
      if (octavo_constraint_open(chosen(session.models, argument), "regex", "a+", 0, &handle) == OCTAVO_OK)
        session.constraints.push_back(handle);
      octavo_mask(chosen(session.constraints, argument), nullptr, 0, words.data(), count_of(words.size(), argument));
  }
}

/// Steps the models that the session drives until they have nothing to do.
void drive(const Session& session) {
  for (const octavo_handle model : session.models) {
    int num_steps = 0;
    for (std::int32_t has_more = 1; has_more != 0 && octavo_step(model, &has_more) == OCTAVO_OK;)
      if (++num_steps > kMostSteps) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Session session;
  load(session, 0);
  call(session, 1, 0);
  for (std::size_t i = 0; i + 1 < std::min<std::size_t>(size, 64); i += 2) call(session, data[i], data[i + 1]);
  drive(session);
  for (const std::vector<octavo_handle>* handles : {&session.constraints, &session.queues, &session.models})
    for (const octavo_handle handle : *handles) octavo_close(handle);
  octavo_error error = {};
  error.size = sizeof error;
  octavo_last_error(&error);
  return error.message == nullptr ? 1 : 0;
}
