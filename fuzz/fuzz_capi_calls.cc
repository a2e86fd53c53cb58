// Sequences of calls of the C interface, right and wrong ones, on a tiny model: each gives a status, and nothing else
// happens. A byte of input chooses a call, the next one its arguments.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "octavo.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"
#include "support/tiny_vocab.h"

namespace {

/// What hears a queue's events, until the queue is closed: a call back behind that would be a use after free.
struct Listener {
  std::atomic<octavo_handle> closes = 0;  // the queue that the next callback closes

  static void hear(void* user, octavo_events* events) {
    octavo_events_free(events);
    octavo_close(static_cast<Listener*>(user)->closes.exchange(0));
  }
};

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
  asked.size = sizeof asked;
  asked.model = path.c_str();
  asked.options = options.data();
  asked.num_options = options.size();
  asked.is_driven = argument % 2;
  octavo_handle model = 0;
  if (session.models.size() < 4 && octavo_load(&asked, &model) == OCTAVO_OK) session.models.push_back(model);
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
  request.size = argument % 31 == 0 ? 8 : sizeof request;
  request.body = kBodies[argument % kBodies.size()];
  request.api = argument % 13 == 12 ? "/v1/embeddings" : argument % 17 == 16 ? "/nowhere" : nullptr;
  request.tokens = kTokens.data();
  request.num_tokens = argument % 7;
  if (request.num_tokens == 6 && argument % 2 == 0) request.num_tokens = 5;
  request.form = argument / 16 % 3;
  request.wants_logits = argument / 64 % 2;
  request.pins = argument / 32 % 2;
  octavo_submit(chosen(session.models, argument / 2), chosen(session.queues, argument), &request, &session.request);
}

void open_queue(Session& session, std::uint8_t argument) {
  octavo_queue_options options = {};
  options.size = sizeof options;
  Listener& listener = session.listeners.emplace_back();
  options.user = &listener;
  if (argument % 3 != 0) options.on_events = Listener::hear;
  octavo_handle queue = 0;
  if (octavo_queue_open(&options, &queue) != OCTAVO_OK) return;
  session.queues.push_back(queue);
  if (argument % 3 == 2) listener.closes = chosen(session.queues, argument / 3);
}

void poll(Session& session, std::uint8_t argument) {
  octavo_events* events = nullptr;
  octavo_poll(chosen(session.queues, argument), argument % 3, &events);
  octavo_events_free(events);
}

void close(std::vector<octavo_handle>& handles, std::uint8_t argument) { octavo_close(chosen(handles, argument)); }

void ask_for_words(Session& session, std::uint8_t argument) {
  std::array<std::int32_t, 4> tokens = {1, 2, argument, -5};
  std::size_t count = 0;
  octavo_tokenize(chosen(session.models, argument), "a text", 0, argument % 5, tokens.data(), argument % 5, &count);
  octavo_text text = {};
  octavo_detokenize(chosen(session.models, argument), tokens.data(), argument % 4, &text);
  octavo_text_free(&text);
  octavo_answer(chosen(session.models, argument), argument % 2 == 0 ? "/tokenize" : "/other", R"({"prompt": "a"})", 0,
                &text);
  octavo_text_free(&text);
}

void call(Session& session, std::uint8_t which, std::uint8_t argument) {
  octavo_handle handle = 0;
  octavo_counts counts = {};
  counts.size = argument % 2 == 0 ? sizeof counts : argument % sizeof counts;
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
    case 10: octavo_stats(chosen(session.models, argument), &counts); return;
    default:
      if (octavo_constraint_open(chosen(session.models, argument), "regex", "a+", 0, &handle) == OCTAVO_OK)
        session.constraints.push_back(handle);
      octavo_mask(chosen(session.constraints, argument), nullptr, 0, words.data(), words.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Session session;
  load(session, 0);
  call(session, 1, 0);
  for (std::size_t i = 0; i + 1 < std::min<std::size_t>(size, 64); i += 2) call(session, data[i], data[i + 1]);
  for (const std::vector<octavo_handle>* handles : {&session.constraints, &session.queues, &session.models})
    for (const octavo_handle handle : *handles) octavo_close(handle);
  octavo_error error = {};
  error.size = sizeof error;
  octavo_last_error(&error);
  return error.message == nullptr ? 1 : 0;
}
