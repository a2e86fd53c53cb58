// include/octavo.h on a real small model, as a program of another language would call it.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "octavo.h"
#include "support/temp_file.h"

namespace {

namespace json = boost::json;
using testing::HasSubstr;

std::string real_model() { return std::string(std::getenv("OCTAVO_TEST_DATA")) + "/SmolLM2-135M-Instruct.Q4_1.gguf"; }

octavo_error last_error() {
  octavo_error error = {};
  error.size = sizeof error;
  octavo_last_error(&error);
  return error;
}

octavo_status load(const std::string& path, std::vector<const char*> options, octavo_handle& model,
                   bool is_driven = false, octavo_handle shares = 0) {
  octavo_load_options asked = {};
  asked.size = sizeof asked;
  asked.model = path.c_str();
  asked.options = options.data();
  asked.num_options = options.size();
  asked.is_driven = is_driven ? 1 : 0;
  asked.shares = shares;
  return octavo_load(&asked, &model);
}

/// The text of an octavo_text, which is freed.
std::string take(octavo_text& text) {
  std::string taken(text.data, text.size);
  octavo_text_free(&text);
  return taken;
}

/// An event with what it points to.
struct Told {
  octavo_event event = {};
  std::string text, finish, error;
  std::vector<float> rows;
};

std::vector<Told> told(octavo_events* events) {
  std::vector<Told> all;
  for (std::size_t i = 0; events != nullptr && i < events->count; ++i) {
    const octavo_event& e = events->events[i];
    all.push_back({e, std::string(e.text, e.text_size), e.finish, e.error, {e.rows, e.rows + e.num_rows * e.width}});
  }
  octavo_events_free(events);
  return all;
}

struct Asked {
  std::string body = "{}";
  const char* api = nullptr;
  std::vector<std::int32_t> tokens = {};
  octavo_form form = OCTAVO_JSON;
  bool wants_logits = false;
  bool pins = false;
  std::uint64_t tag = 0;
};

octavo_status submit(octavo_handle model, octavo_handle queue, const Asked& asked, std::uint64_t* id = nullptr) {
  octavo_request request = {};
  request.size = sizeof request;
  request.api = asked.api;
  request.body = asked.body.c_str();
  request.tokens = asked.tokens.data();
  request.num_tokens = asked.tokens.size();
  request.form = asked.form;
  request.wants_logits = asked.wants_logits ? 1 : 0;
  request.pins = asked.pins ? 1 : 0;
  request.tag = asked.tag;
  return octavo_submit(model, queue, &request, id);
}

/// All events of one request, which is the queue's only one.
std::vector<Told> events_of(octavo_handle queue) {
  std::vector<Told> all;
  for (;;) {
    octavo_events* events = nullptr;
    if (octavo_poll(queue, 60'000, &events) != OCTAVO_OK || events == nullptr) return all;
    for (Told& one : told(events)) all.push_back(std::move(one));
    if (!all.empty() && all.back().event.kind == OCTAVO_END) return all;
  }
}

class Capi : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(load(real_model(), {"--threads", "2", "--embedding"}, model_), OCTAVO_OK) << last_error().message;
  }
  static void TearDownTestSuite() { EXPECT_EQ(octavo_close(model_), OCTAVO_OK); }
  void SetUp() override { ASSERT_EQ(octavo_queue_open(nullptr, &queue_), OCTAVO_OK); }
  void TearDown() override { octavo_close(queue_); }

  std::vector<Told> answer(const Asked& asked) const {
    EXPECT_EQ(submit(model_, queue_, asked), OCTAVO_OK) << last_error().message;
    return events_of(queue_);
  }
  static std::vector<std::int32_t> tokens_of(const std::string& text, std::uint32_t flags = OCTAVO_ADD_SPECIAL) {
    std::vector<std::int32_t> tokens(1024);
    std::size_t count = 0;
    EXPECT_EQ(octavo_tokenize(model_, text.data(), text.size(), flags, tokens.data(), tokens.size(), &count),
              OCTAVO_OK);
    tokens.resize(count);
    return tokens;
  }

  static octavo_handle model_;
  octavo_handle queue_ = 0;
};

octavo_handle Capi::model_ = 0;

constexpr const char* kGreedy = R"({"prompt": "Once upon a time", "max_tokens": 8, "temperature": 0})";
constexpr const char* kEndless = R"({"prompt": "Once", "max_tokens": 4000, "ignore_eos": true, "temperature": 0})";

TEST_F(Capi, AnAnswerIsTheApisJsonWholeAndAnEndFollows) {
  const std::vector<Told> events = answer({.body = kGreedy, .tag = 9});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].event.kind, OCTAVO_TEXT);
  EXPECT_EQ(events[0].event.tag, 9U);
  EXPECT_EQ(json::parse(events[0].text).at("usage").at("completion_tokens").as_int64(), 8);
  EXPECT_EQ(events[1].event.kind, OCTAVO_END);
  EXPECT_EQ(events[1].event.status, OCTAVO_OK);
}

TEST_F(Capi, AStreamOfAChatIsThatOfTheServer) {
  const std::vector<Told> events =
      answer({.body = R"({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4, "stream": true})",
              .api = "/v1/chat/completions"});
  ASSERT_GE(events.size(), 4U);
  EXPECT_THAT(events[0].text, HasSubstr("data: {\"id\":\"chatcmpl-"));
  std::string all;
  for (const Told& one : events) all += one.text;
  EXPECT_TRUE(all.ends_with("data: [DONE]\n\n"));
}

TEST_F(Capi, TokensInAreTheTextsTokensAndTokensOutAreTheTextsOfTheJson) {
  const std::vector<Told> whole = answer({.body = kGreedy});
  const std::vector<Told> events = answer({.body = R"({"max_tokens": 8, "temperature": 0})",
                                           .tokens = tokens_of("Once upon a time"),
                                           .form = OCTAVO_TOKENS});
  ASSERT_EQ(events.size(), 9U);
  std::string text;
  std::vector<std::int32_t> tokens;
  for (const Told& one : events) {
    text += one.text;
    if (one.event.kind == OCTAVO_TOKEN) tokens.push_back(one.event.token);
  }
  EXPECT_EQ(text, json::parse(whole[0].text).at("choices").at(0).at("text").as_string());
  EXPECT_EQ(events[7].finish, "length");
  octavo_text bytes = {};
  ASSERT_EQ(octavo_detokenize(model_, tokens.data(), tokens.size(), &bytes), OCTAVO_OK);
  EXPECT_EQ(take(bytes), text);
}

TEST_F(Capi, LogitsAreARowForEveryTokenOfThePromptAndTheLastOnesLargestIsTheGreedyToken) {
  const std::vector<std::int32_t> prompt = tokens_of("Once upon a time");
  const std::vector<Told> events = answer({.tokens = prompt, .form = OCTAVO_TOKENS, .wants_logits = true});
  std::size_t num_rows = 0;
  std::vector<float> last;
  for (const Told& one : events) {
    if (one.event.kind != OCTAVO_LOGITS) continue;
    EXPECT_EQ(one.event.first_row, num_rows);
    num_rows += one.event.num_rows;
    last.assign(one.rows.end() - static_cast<std::ptrdiff_t>(one.event.width), one.rows.end());
  }
  EXPECT_EQ(num_rows, prompt.size());
  const std::vector<Told> greedy =
      answer({.body = R"({"max_tokens": 1, "temperature": 0})", .tokens = prompt, .form = OCTAVO_TOKENS});
  EXPECT_EQ(std::ranges::max_element(last) - last.begin(), greedy[0].event.token);
}

TEST_F(Capi, APinnedPromptHoldsMemoryUntilItIsCancelledAndAnEarlierCancelLeavesNone) {
  const auto is_any_pinned = [&](bool expected) {  // a step may be under way, whose counts come behind it
    octavo_counts counts = {};
    counts.size = sizeof counts;
    for (int i = 0; i < 10'000; ++i) {
      EXPECT_EQ(octavo_stats(model_, &counts), OCTAVO_OK);
      if ((counts.pinned_bytes > 0) == expected) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return counts.pinned_bytes > 0;
  };
  const Asked asked = {.tokens = tokens_of(std::string(300, 'a')), .form = OCTAVO_TOKENS, .pins = true};
  for (const bool cancels_at_once : {false, true}) {
    std::uint64_t id = 0;
    ASSERT_EQ(submit(model_, queue_, asked, &id), OCTAVO_OK) << last_error().message;
    if (cancels_at_once) {
      EXPECT_EQ(octavo_cancel(model_, id), OCTAVO_OK);
    }
    const std::vector<Told> events = events_of(queue_);
    if (!cancels_at_once) {
      EXPECT_EQ(events.back().event.status, OCTAVO_OK);
      EXPECT_EQ(std::ranges::count(events, -1, [](const Told& one) { return one.event.token; }), events.size());
      EXPECT_TRUE(is_any_pinned(true));
    }
    EXPECT_EQ(octavo_cancel(model_, id), OCTAVO_OK);
    EXPECT_FALSE(is_any_pinned(false));
  }
}

TEST_F(Capi, ManyTextsOfOneCallGoToTheEngineInTurns) {
  json::array texts;
  for (int i = 0; i < 300; ++i) texts.emplace_back("text " + std::to_string(i));
  const std::vector<Told> events =
      answer({.body = json::serialize(json::object{{"input", texts}}), .api = "/v1/embeddings"});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(json::parse(events[0].text).at("data").as_array().size(), 300U);
}

TEST_F(Capi, ACancelledRequestEndsAsStopped) {
  std::uint64_t id = 0;
  ASSERT_EQ(submit(model_, queue_, {.body = kEndless}, &id), OCTAVO_OK);
  ASSERT_EQ(octavo_cancel(model_, id), OCTAVO_OK);
  const std::vector<Told> events = events_of(queue_);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().event.status, OCTAVO_STOPPED);
  EXPECT_THAT(events.back().error, HasSubstr("\"code\":\"cancelled\""));
  EXPECT_EQ(octavo_cancel(model_, 1U << 30), OCTAVO_OK) << "unknown ids are ignored";
}

TEST_F(Capi, ARefusedRequestLeavesNoEvent) {
  octavo_handle full = 0;
  ASSERT_EQ(load(real_model(), {"--kv-memory", "64MiB", "--max-queued", "1"}, full, true), OCTAVO_OK);
  ASSERT_EQ(submit(full, queue_, {.body = kGreedy, .tag = 1}), OCTAVO_OK);
  EXPECT_EQ(submit(full, queue_, {.body = kGreedy, .tag = 2}), OCTAVO_BUSY);
  EXPECT_EQ(last_error().http, 429);
  EXPECT_EQ(submit(full, queue_, {.body = R"({"prompt": ["a", "b"]})", .tag = 3}), OCTAVO_BUSY);
  EXPECT_EQ(octavo_close(full), OCTAVO_OK);
  for (const Told& one : events_of(queue_)) EXPECT_EQ(one.event.tag, 1U);
}

TEST_F(Capi, ACallbackOwnsItsEventsAndNothingIsPolled) {
  struct Heard {
    std::atomic<int> tokens = 0;
    std::atomic<bool> has_ended = false;
  } heard;
  octavo_queue_options options = {};
  options.size = sizeof options;
  options.user = &heard;
  options.on_events = [](void* user, octavo_events* events) {
    auto& h = *static_cast<Heard*>(user);
    for (const Told& one : told(events)) {
      if (one.event.kind == OCTAVO_TOKEN) ++h.tokens;
      if (one.event.kind == OCTAVO_END) h.has_ended = true;
    }
  };
  octavo_handle queue = 0;
  ASSERT_EQ(octavo_queue_open(&options, &queue), OCTAVO_OK);
  octavo_events* none = nullptr;
  EXPECT_EQ(octavo_poll(queue, 0, &none), OCTAVO_INVALID);
  ASSERT_EQ(submit(model_, queue, {.body = kGreedy, .form = OCTAVO_TOKENS}), OCTAVO_OK);
  while (!heard.has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(heard.tokens, 8);
  EXPECT_EQ(octavo_close(queue), OCTAVO_OK);
}

/// A queue whose callback keeps the test's thread informed of where it is.
struct Heard {
  std::atomic<int> begun = 0, ended = 0;
  std::atomic<octavo_handle> closes = 0;  // what the callback closes
  std::atomic<octavo_status> closed = OCTAVO_FAILED;
  const Heard* waits_for = nullptr;  // before it closes
  std::chrono::milliseconds lasts{0};

  octavo_handle open() {
    octavo_queue_options options = {};
    options.size = sizeof options;
    options.user = this;
    options.on_events = [](void* user, octavo_events* events) {
      auto& heard = *static_cast<Heard*>(user);
      octavo_events_free(events);
      ++heard.begun;
      if (heard.waits_for != nullptr) heard.waits_for->wait_for_one();
      if (const octavo_handle handle = heard.closes.exchange(0); handle != 0) heard.closed = octavo_close(handle);
      std::this_thread::sleep_for(heard.lasts);
      ++heard.ended;
    };
    octavo_handle queue = 0;
    EXPECT_EQ(octavo_queue_open(&options, &queue), OCTAVO_OK);
    return queue;
  }
  void wait_for_one() const {
    while (begun == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

/// Waits until none of the model's sequences runs.
void wait_until_idle(octavo_handle model) {
  octavo_counts counts = {};
  counts.size = sizeof counts;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(octavo_stats(model, &counts), OCTAVO_OK);
  } while (counts.running + counts.waiting > 0);
}

TEST_F(Capi, ClosingAQueueWaitsForItsCallbackAndEndsCalling) {
  Heard heard;
  heard.lasts = std::chrono::milliseconds(100);
  const octavo_handle queue = heard.open();
  ASSERT_EQ(submit(model_, queue, {.body = kEndless, .form = OCTAVO_TOKENS}), OCTAVO_OK);
  heard.wait_for_one();
  ASSERT_EQ(octavo_close(queue), OCTAVO_OK);
  const int ended = heard.ended;
  EXPECT_EQ(ended, heard.begun);
  EXPECT_GT(ended, 0);
  wait_until_idle(model_);
  EXPECT_EQ(heard.begun, ended) << "the end of the cancelled request is nobody's";
}

TEST_F(Capi, ACallbackMayCloseItsOwnQueueWhichWaitsForNobody) {
  Heard heard;
  heard.closes = heard.open();
  ASSERT_EQ(submit(model_, heard.closes, {.body = kEndless, .form = OCTAVO_TOKENS}), OCTAVO_OK);
  heard.wait_for_one();
  wait_until_idle(model_);
  EXPECT_EQ(heard.closed, OCTAVO_OK);
  EXPECT_EQ(heard.begun, 1);
  EXPECT_EQ(heard.ended, 1);
}

TEST_F(Capi, CallbacksThatCloseEachOthersQueuesWaitForNobody) {
  octavo_handle other = 0;
  ASSERT_EQ(load(real_model(), {"--kv-memory", "64MiB", "--threads", "1"}, other), OCTAVO_OK);
  Heard heard[2];
  const octavo_handle queues[] = {heard[0].open(), heard[1].open()};
  for (int i : {0, 1}) {
    heard[i].closes = queues[1 - i];
    heard[i].waits_for = &heard[1 - i];
  }
  ASSERT_EQ(submit(model_, queues[0], {.body = kEndless, .form = OCTAVO_TOKENS}), OCTAVO_OK);
  ASSERT_EQ(submit(other, queues[1], {.body = kEndless, .form = OCTAVO_TOKENS}), OCTAVO_OK);
  for (int i : {0, 1}) heard[i].wait_for_one();
  wait_until_idle(model_);
  wait_until_idle(other);
  EXPECT_EQ(octavo_close(other), OCTAVO_OK);
  for (int i : {0, 1}) EXPECT_EQ(heard[i].closed, OCTAVO_OK);
}

TEST_F(Capi, ACallbackMayEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end_in_callback = [this] {
    octavo_queue_options ends = {};
    ends.size = sizeof ends;
    ends.on_events = [](void*, octavo_events*) { std::exit(7); };
    octavo_handle queue = 0;
    if (octavo_queue_open(&ends, &queue) != OCTAVO_OK || submit(model_, queue, {.body = kGreedy}) != OCTAVO_OK) return;
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  EXPECT_EXIT(end_in_callback(), testing::ExitedWithCode(7), "");
}

TEST_F(Capi, ADescriptorIsReadableAsLongAsEventsWait) {
  std::int32_t descriptor = -1;
  ASSERT_EQ(octavo_queue_descriptor(queue_, &descriptor), OCTAVO_OK);
  pollfd waited = {.fd = descriptor, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waited, 1, 0), 0);
  ASSERT_EQ(submit(model_, queue_, {.body = kGreedy}), OCTAVO_OK);
  EXPECT_EQ(::poll(&waited, 1, 60'000), 1);
  events_of(queue_);
  EXPECT_EQ(::poll(&waited, 1, 0), 0);
}

TEST_F(Capi, AMaskAllowsWhatTheConstraintAllowsAndGoesOnFromTheLastCall) {
  octavo_handle constraint = 0;
  const std::string pattern = "[0-9]{2}";
  ASSERT_EQ(octavo_constraint_open(model_, "regex", pattern.data(), pattern.size(), &constraint), OCTAVO_OK);
  std::vector<std::uint32_t> words(49152 / 32);
  const auto allows = [&words](std::int32_t token) { return (words[token / 32U] >> (token % 32U) & 1U) == 1U; };
  const std::int32_t seven = tokens_of("7", 0)[0], letter = tokens_of("x", 0)[0];
  ASSERT_EQ(octavo_mask(constraint, nullptr, 0, words.data(), words.size()), OCTAVO_OK);
  EXPECT_TRUE(allows(seven));
  EXPECT_FALSE(allows(letter));
  const std::vector<std::int32_t> both = {seven, seven};
  ASSERT_EQ(octavo_mask(constraint, both.data(), 2, words.data(), words.size()), OCTAVO_OK);
  EXPECT_FALSE(allows(seven)) << "two digits are there: only an end may follow";
  ASSERT_EQ(octavo_mask(constraint, both.data(), 1, words.data(), words.size()), OCTAVO_OK);
  EXPECT_TRUE(allows(seven));
  EXPECT_EQ(octavo_mask(constraint, &letter, 1, words.data(), words.size()), OCTAVO_INVALID);
  EXPECT_EQ(octavo_mask(constraint, nullptr, 0, words.data(), 1), OCTAVO_INVALID);
  EXPECT_EQ(octavo_close(constraint), OCTAVO_OK);
}

TEST_F(Capi, AConversationsPromptIsThatOfTheServer) {
  octavo_text answer = {};
  const std::string body = R"({"messages": [{"role": "user", "content": "Hi"}]})";
  ASSERT_EQ(octavo_answer(model_, "/apply-template", body.data(), body.size(), &answer), OCTAVO_OK);
  EXPECT_THAT(take(answer), HasSubstr("<|im_start|>user\\nHi<|im_end|>"));
}

TEST_F(Capi, TwoModelsShareThreadsAndGiveTheSameTokens) {
  octavo_handle other = 0;
  ASSERT_EQ(load(real_model(), {"--kv-memory", "64MiB"}, other, false, model_), OCTAVO_OK) << last_error().message;
  octavo_text info = {};
  ASSERT_EQ(octavo_info(other, &info), OCTAVO_OK);
  EXPECT_EQ(json::parse(take(info)).at("num_threads").as_int64(), 2);
  const std::string here = json::serialize(json::parse(answer({.body = kGreedy})[0].text).at("choices"));
  ASSERT_EQ(submit(other, queue_, {.body = kGreedy}), OCTAVO_OK);
  EXPECT_EQ(json::serialize(json::parse(events_of(queue_)[0].text).at("choices")), here);
  EXPECT_EQ(octavo_close(other), OCTAVO_OK);
}

TEST_F(Capi, AModelThatItsCallerDrivesAdvancesByItsSteps) {
  octavo_handle driven = 0;
  ASSERT_EQ(load(real_model(), {"--kv-memory", "64MiB"}, driven, true), OCTAVO_OK);
  ASSERT_EQ(submit(driven, queue_, {.body = kGreedy, .form = OCTAVO_TOKENS}), OCTAVO_OK);
  octavo_events* events = nullptr;
  EXPECT_EQ(octavo_poll(queue_, 0, &events), OCTAVO_OK);
  EXPECT_EQ(events, nullptr);
  std::int32_t has_more = 1;
  while (has_more == 1) ASSERT_EQ(octavo_step(driven, &has_more), OCTAVO_OK);
  EXPECT_EQ(events_of(queue_).size(), 9U);
  octavo_handle server = 0;
  EXPECT_EQ(octavo_serve(driven, nullptr, 0, &server, nullptr), OCTAVO_INVALID);
  EXPECT_EQ(octavo_close(driven), OCTAVO_OK);
  EXPECT_EQ(octavo_step(model_, &has_more), OCTAVO_INVALID) << "the library drives that one";
}

TEST_F(Capi, ClosingAModelEndsItsRequests) {
  octavo_handle other = 0;
  ASSERT_EQ(load(real_model(), {"--kv-memory", "64MiB"}, other), OCTAVO_OK);
  ASSERT_EQ(submit(other, queue_, {.body = kEndless}), OCTAVO_OK);
  ASSERT_EQ(octavo_close(other), OCTAVO_OK);
  const std::vector<Told> events = events_of(queue_);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().event.status, OCTAVO_STOPPED);
  EXPECT_EQ(submit(other, queue_, {.body = kGreedy}), OCTAVO_CLOSED);
  EXPECT_THAT(last_error().message, HasSubstr("a model that is closed"));
  EXPECT_EQ(octavo_close(other), OCTAVO_CLOSED);
}

TEST_F(Capi, ClosingAQueueWakesItsPollAndCancelsItsRequests) {
  octavo_handle queue = 0;
  ASSERT_EQ(octavo_queue_open(nullptr, &queue), OCTAVO_OK);
  std::optional<octavo_status> polled;
  std::thread waiting([&] {
    octavo_events* events = nullptr;
    polled = octavo_poll(queue, -1, &events);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(octavo_close(queue), OCTAVO_OK);
  waiting.join();
  EXPECT_EQ(polled, OCTAVO_CLOSED);
}

TEST_F(Capi, ClosingAStopEndsALoad) {
  octavo_handle stop = 0, model = 0;
  ASSERT_EQ(octavo_stop_open(&stop), OCTAVO_OK);
  const std::string path = real_model();
  octavo_load_options asked = {};
  asked.size = sizeof asked;
  asked.model = path.c_str();
  asked.stop = stop;
  std::thread closing([stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    octavo_close(stop);
  });
  const octavo_status status = octavo_load(&asked, &model);
  const std::string message = last_error().message;
  closing.join();
  ASSERT_EQ(status, OCTAVO_STOPPED) << message;
  EXPECT_EQ(message, "loading was stopped");
  EXPECT_EQ(model, 0U);
  EXPECT_EQ(octavo_load(&asked, &model), OCTAVO_CLOSED);
  ASSERT_EQ(octavo_stop_open(&asked.stop), OCTAVO_OK);
  ASSERT_EQ(octavo_load(&asked, &model), OCTAVO_OK) << last_error().message;
  EXPECT_EQ(octavo_close(asked.stop), OCTAVO_OK);
  ASSERT_EQ(submit(model, queue_, {.body = kGreedy}), OCTAVO_OK);
  EXPECT_EQ(events_of(queue_).back().event.status, OCTAVO_OK) << "a stop does nothing to what is loaded";
  EXPECT_EQ(octavo_close(model), OCTAVO_OK);
}

TEST_F(Capi, AServerAnswersBesideTheLibraryUntilItIsClosed) {
  const char* const options[] = {"--port", "0"};
  octavo_handle server = 0;
  octavo_text url = {};
  ASSERT_EQ(octavo_serve(model_, options, 2, &server, &url), OCTAVO_OK) << last_error().message;
  EXPECT_THAT(take(url), HasSubstr("http://127.0.0.1:"));
  EXPECT_EQ(answer({.body = kGreedy}).size(), 2U);
  EXPECT_EQ(octavo_close(server), OCTAVO_OK);
  const char* const wrong[] = {"--kv-memory", "1GiB"};
  EXPECT_EQ(octavo_serve(model_, wrong, 2, &server, nullptr), OCTAVO_INVALID);
  EXPECT_THAT(last_error().message, HasSubstr("--kv-memory: it is about models"));
  const char* const others[] = {"--models-dir", "/"};
  EXPECT_EQ(octavo_serve(model_, others, 2, &server, nullptr), OCTAVO_INVALID);
  EXPECT_THAT(last_error().message, HasSubstr("--models-dir: it is about models"));
}

TEST_F(Capi, AForkedProcessIsToldThatItCannotUseItsParentsModel) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_told = submit(model_, queue_, {.body = kGreedy}) == OCTAVO_FORKED &&
                         octavo_close(model_) == OCTAVO_FORKED && last_error().status == OCTAVO_FORKED;
    ::_exit(is_told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(answer({.body = kGreedy}).size(), 2U) << "the parent's goes on";
}

TEST_F(Capi, WrongArgumentsAreErrorsThatSayWhatWasFound) {
  const auto expect = [](octavo_status status, octavo_status expected, const char* message) {
    EXPECT_EQ(status, expected);
    EXPECT_THAT(last_error().message, HasSubstr(message));
  };
  octavo_handle none = 0;
  const octavo::test::TempFile file("no model");
  expect(load(file.string(), {}, none), OCTAVO_INVALID, "not a GGUF file");
  for (const std::string name : {"--port=1", "--models-dir=/", "--models-memory=1GiB", "--allow-pull", "--log-prompts"})
    expect(load(real_model(), {name.c_str()}, none), OCTAVO_INVALID, "it is about servers, expected one about a model");
  expect(load(real_model(), {"--kv-type", "x"}, none), OCTAVO_INVALID, "found 'x', expected one of");
  expect(load(real_model(), {"--help"}, none), OCTAVO_INVALID, "found --help");
  expect(octavo_load(nullptr, nullptr), OCTAVO_INVALID, "model: found a null pointer");
  expect(submit(queue_, queue_, {}), OCTAVO_CLOSED, "found another kind, expected a model");
  expect(submit(model_, 1U << 30, {}), OCTAVO_CLOSED, "there is none of this number");
  expect(submit(model_, queue_, {.api = "/v2"}), OCTAVO_INVALID, "api: found '/v2'");
  expect(submit(model_, queue_, {.body = "["}), OCTAVO_INVALID, "found no JSON");
  expect(submit(model_, queue_, {.body = R"({"prompt": 5})"}), OCTAVO_INVALID, "prompt: found the number 5");
  EXPECT_STREQ(last_error().field, "prompt");
  EXPECT_EQ(last_error().http, 400);
  expect(submit(model_, queue_, {.tokens = {1, 1 << 30}}), OCTAVO_INVALID,
         "prompt[1]: found the number 1073741824, expected a token id from 0 to");
  expect(submit(model_, queue_, {.api = "/v1/chat/completions", .tokens = {1}}), OCTAVO_INVALID,
         "tokens: found them beside /v1/chat/completions, expected /v1/completions");
  expect(submit(model_, queue_, {.body = R"({"suffix": "b"})", .tokens = {1}}), OCTAVO_INVALID,
         "prompt: found token ids beside a suffix, expected a string");
  expect(submit(model_, queue_, {.tokens = {1}, .wants_logits = true}), OCTAVO_INVALID, "wants_logits");
  expect(submit(model_, queue_, {.tokens = {1}, .pins = true}), OCTAVO_INVALID, "pins");
  expect(submit(model_, queue_, {.tokens = std::vector<std::int32_t>(9000, 1)}), OCTAVO_TOO_LONG, "8192 tokens");
  expect(submit(model_, queue_, {.body = R"({"input": "a"})", .api = "/v1/embeddings", .form = OCTAVO_TOKENS}),
         OCTAVO_INVALID, "vectors have no tokens");
  octavo_text text = {};
  expect(octavo_answer(model_, "/v1/models", "{}", 2, &text), OCTAVO_INVALID, "path: found '/v1/models'");
  octavo_handle constraint = 0;
  expect(octavo_constraint_open(model_, "rhyme", "", 0, &constraint), OCTAVO_INVALID, "kind: found 'rhyme'");
  expect(octavo_constraint_open(model_, "choice", "[1]", 3, &constraint), OCTAVO_INVALID, "array of texts");
}

TEST_F(Capi, AStructOfAnOlderCallerHasNoFieldsBehindItsSize) {
  octavo_counts counts = {};
  counts.size = offsetof(octavo_counts, cached_tokens);
  counts.waiting = 77;
  ASSERT_EQ(octavo_stats(model_, &counts), OCTAVO_OK);
  EXPECT_EQ(counts.waiting, 77);
  octavo_request request = {};
  request.size = offsetof(octavo_request, form);  // nothing behind it is read
  request.form = 99;
  EXPECT_EQ(octavo_submit(model_, queue_, &request, nullptr), OCTAVO_INVALID);
  EXPECT_THAT(last_error().message, HasSubstr("prompt"));
}

TEST_F(Capi, AStructWhoseSizeWasForgottenIsAnError) {
  octavo_load_options options = {};
  options.model = "/nonexistent";
  octavo_request request = {};
  octavo_queue_options queue = {};
  octavo_counts counts = {};
  octavo_handle made = 0;
  for (const std::size_t size : {0UZ, 4UZ, 8UZ, ~0UZ}) {
    options.size = request.size = queue.size = counts.size = size;
    EXPECT_EQ(octavo_load(&options, &made), OCTAVO_INVALID);
    EXPECT_THAT(last_error().message, HasSubstr("size: found " + std::to_string(size)));
    EXPECT_EQ(octavo_submit(model_, queue_, &request, nullptr), OCTAVO_INVALID);
    EXPECT_EQ(octavo_queue_open(&queue, &made), OCTAVO_INVALID);
    EXPECT_EQ(octavo_stats(model_, &counts), OCTAVO_INVALID);
  }
  EXPECT_EQ(load("", {}, made), OCTAVO_INVALID);
  EXPECT_THAT(last_error().message, HasSubstr("model: found an empty text"));
}

TEST_F(Capi, ADeadlineEndsARequestAsStopped) {
  const std::vector<Told> events =
      answer({.body = R"({"prompt": "Once", "max_tokens": 4000, "ignore_eos": true, "deadline_s": 0.05})"});
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().event.status, OCTAVO_STOPPED);
}

}  // namespace
