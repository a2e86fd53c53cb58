// What waits in include/octavo.h: polls, closes, calls in callbacks, and calls that end while they begin.
#include <gmock/gmock.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capi/call.h"
#include "octavo.h"
#include "tiny_calls.h"

namespace octavo::test {
namespace {

/// Waits for what another thread does. A test that waits in vain ends by its time limit.
template <class Condition>
void wait_until(const Condition& holds) {
  while (!holds()) std::this_thread::yield();
}

/// Whether a thread of this process sleeps until it is woken.
bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string number, name, state;
  file >> number >> name >> state;
  return state == "S";
}

TEST(CapiPolls, APollWithoutATimeoutReturnsWhileAnotherThreadWaits) {
  const octavo_handle queue = open_queue();
  std::atomic<pid_t> waiting = 0;
  std::thread waits([&] {
    octavo_events* events = nullptr;
    waiting = ::gettid();
    EXPECT_EQ(octavo_poll(queue, -1, &events), OCTAVO_CLOSED);
  });
  wait_until([&] { return waiting != 0 && is_asleep(waiting); });
  for (const std::int32_t timeout_ms : {0, 1}) {
    octavo_events* events = nullptr;
    EXPECT_EQ(octavo_poll(queue, timeout_ms, &events), OCTAVO_OK);
    EXPECT_EQ(events, nullptr);
  }
  EXPECT_EQ(octavo_close(queue), OCTAVO_OK);
  waits.join();
}

TEST(CapiPolls, ThreadsThatPollAtOnceGetEachEventOnce) {
  const octavo_handle model = load_tiny(false), queue = open_queue();
  std::atomic<int> num_tokens = 0;
  std::atomic<bool> has_ended = false;
  const auto poll = [&] {
    while (!has_ended) {
      octavo_events* events = nullptr;
      ASSERT_EQ(octavo_poll(queue, 10, &events), OCTAVO_OK);
      for (std::size_t i = 0; events != nullptr && i < events->count; ++i) {
        if (events->events[i].kind == OCTAVO_TOKEN) ++num_tokens;
        if (events->events[i].kind == OCTAVO_END) has_ended = true;
      }
      octavo_events_free(events);
    }
  };
  ASSERT_EQ(submit_long(model, queue), OCTAVO_OK) << message_of_last();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(poll);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_tokens, 3000);
  EXPECT_EQ(octavo_close(queue), OCTAVO_OK);
  EXPECT_EQ(octavo_close(model), OCTAVO_OK);
}

/// What the first callback of a queue does, and the statuses of its calls.
struct InCallback {
  octavo_handle model = 0, other = 0, driven = 0, server = 0, constraint = 0, stop = 0, queue = 0, polled = 0;
  std::map<std::string, octavo_status> told = {};
  octavo_handle loaded = 0;
  std::atomic<bool> is_done = false;

  static void hear(void* user, octavo_events* events) {
    octavo_events_free(events);
    auto& here = *static_cast<InCallback*>(user);
    if (!here.told.empty()) return;
    here.call_what_waits();
    here.call_what_does_not();
    here.is_done = true;
  }

 private:
  void call_what_waits() {
    octavo_events* events = nullptr;
    octavo_handle made = 0;
    std::int32_t has_more = 0;
    told["close its model"] = octavo_close(model);
    told["close another model"] = octavo_close(other);
    told["close a server"] = octavo_close(server);
    told["step"] = octavo_step(driven, &has_more);
    told["serve"] = octavo_serve(other, nullptr, 0, &made, nullptr);
    told["release"] = octavo_release_memory(other, 1);
    told["wait"] = octavo_poll(polled, -1, &events);
    told["wait a moment"] = octavo_poll(polled, 1, &events);
  }
  void call_what_does_not() {
    octavo_events* events = nullptr;
    octavo_handle made = 0;
    octavo_counts counts = {};
    counts.size = sizeof counts;
    octavo_text text = {};
    std::uint64_t id = 0;
    told["may poll"] = octavo_poll(polled, 0, &events);
    octavo_events_free(events);
    told["may submit"] = submit_long(model, polled, &id);
    told["may cancel"] = octavo_cancel(model, id);
    told["may submit to another"] = submit_long(other, polled, &id);
    told["may cancel another's"] = octavo_cancel(other, id);
    told["may ask for counts"] = octavo_stats(model, &counts);
    told["may ask for facts"] = octavo_info(model, &text);
    octavo_text_free(&text);
    told["may open a queue"] = octavo_queue_open(nullptr, &made);
    told["may close a queue"] = octavo_close(made);
    told["may open a constraint"] = octavo_constraint_open(model, "regex", "A+", 0, &made);
    told["may close a constraint"] = octavo_close(made);
    told["may close a stop"] = octavo_close(stop);
    told["may load"] = try_load_tiny(false, model, loaded);
    told["may close its queue"] = octavo_close(queue);
  }
};

TEST(CapiCallbacks, WhatMayWaitForACallbackIsRefusedInItAndAllElseIsDone) {
  InCallback here;
  here.model = load_tiny(false);
  here.other = load_tiny(false);
  here.driven = load_tiny(true);
  const char* const any_port[] = {"--port", "0"};
  ASSERT_EQ(octavo_serve(here.other, any_port, 2, &here.server, nullptr), OCTAVO_OK) << message_of_last();
  ASSERT_EQ(octavo_stop_open(&here.stop), OCTAVO_OK);
  here.polled = open_queue();
  here.queue = open_queue(InCallback::hear, &here);
  ASSERT_EQ(submit_long(here.model, here.queue), OCTAVO_OK) << message_of_last();
  wait_until([&] { return here.is_done.load(); });
  for (const auto& [what, status] : here.told)
    EXPECT_EQ(status, what.starts_with("may") ? OCTAVO_OK : OCTAVO_INVALID) << what;
  for (const octavo_handle handle : {here.server, here.loaded, here.model, here.other, here.driven, here.polled})
    EXPECT_EQ(octavo_close(handle), OCTAVO_OK);
}

/// A callback that closes a model when another one's callback does so, too.
struct Closer {
  octavo_handle closes = 0;
  const Closer* other = nullptr;
  std::atomic<bool> is_inside = false;
  std::atomic<int> closed = -1;

  static void hear(void* user, octavo_events* events) {
    octavo_events_free(events);
    auto& here = *static_cast<Closer*>(user);
    if (here.is_inside.exchange(true)) return;
    wait_until([&] { return here.other->is_inside.load(); });
    here.closed = octavo_close(here.closes);
  }
};

TEST(CapiCallbacks, ModelsWhoseCallbacksCloseEachOtherGoOn) {
  const octavo_handle models[] = {load_tiny(false), load_tiny(false)};
  Closer closers[2];
  for (int i : {0, 1}) {
    closers[i].closes = models[1 - i];
    closers[i].other = &closers[1 - i];
    ASSERT_EQ(submit_long(models[i], open_queue(Closer::hear, &closers[i])), OCTAVO_OK) << message_of_last();
  }
  for (const Closer& closer : closers) {
    wait_until([&] { return closer.closed >= 0; });
    EXPECT_EQ(closer.closed, OCTAVO_INVALID);
  }
  for (const octavo_handle model : models) EXPECT_EQ(octavo_close(model), OCTAVO_OK);
}

TEST(CapiCallbacks, ACallbackMayCloseAModelThatIsDrivenByItsCaller) {
  static octavo_handle closes = 0;
  static octavo_status closed = OCTAVO_FAILED;
  closes = load_tiny(true);
  const octavo_handle queue = open_queue([](void*, octavo_events* events) {
    octavo_events_free(events);
    if (closes != 0) closed = octavo_close(std::exchange(closes, 0));
  });
  const octavo_handle model = closes;
  ASSERT_EQ(submit_long(model, queue), OCTAVO_OK);
  std::int32_t has_more = 1;
  while (has_more != 0 && octavo_step(model, &has_more) == OCTAVO_OK) {
  }
  EXPECT_EQ(closed, OCTAVO_OK);
  EXPECT_EQ(octavo_close(model), OCTAVO_CLOSED);
  EXPECT_EQ(octavo_close(queue), OCTAVO_OK);
}

/// A request that another thread ends while its first callback is under way.
struct EndedInCallback {
  std::shared_ptr<capi::Call> call = {};
  bool is_inside = false, is_end_inside = false;
  std::vector<std::uint32_t> kinds = {};

  static void hear(void* user, octavo_events* events) {
    auto& here = *static_cast<EndedInCallback*>(user);
    for (std::size_t i = 0; i < events->count; ++i) here.kinds.push_back(events->events[i].kind);
    octavo_events_free(events);
    here.is_end_inside |= here.is_inside;
    if (here.kinds.size() > 1) return;
    here.is_inside = true;
    std::thread([&here] { here.call->abort(); }).join();
    here.is_inside = false;
  }
};

TEST(CapiCallbacks, NothingOfARequestComesBesideOrBehindItsLastEvent) {
  const octavo_handle model = load_tiny(true);
  EndedInCallback here;
  const octavo_handle queue = open_queue(EndedInCallback::hear, &here);
  std::uint64_t id = 0;
  ASSERT_EQ(submit_long(model, queue, &id), OCTAVO_OK) << message_of_last();
  here.call = capi::Handles::instance().find<capi::LoadedModel>(model, "model").value()->calls().find(id);
  ASSERT_NE(here.call, nullptr);
  while (here.kinds.empty()) ASSERT_EQ(octavo_step(model, nullptr), OCTAVO_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(octavo_step(model, nullptr), OCTAVO_OK);
  EXPECT_FALSE(here.is_end_inside);
  EXPECT_THAT(here.kinds, testing::ElementsAre(OCTAVO_TOKEN, OCTAVO_END));
  EXPECT_EQ(octavo_close(queue), OCTAVO_OK);
  EXPECT_EQ(octavo_close(model), OCTAVO_OK);
}

/// How a request of a model that the test drives has ended, after how many tokens.
struct Ending {
  octavo_status status = OCTAVO_OK;
  int num_tokens = 0;
};

Ending run_to_end(octavo_handle model, octavo_handle queue) {
  Ending ending;
  std::int32_t has_more = 1;
  while (has_more != 0) EXPECT_EQ(octavo_step(model, &has_more), OCTAVO_OK);
  octavo_events* events = nullptr;
  EXPECT_EQ(octavo_poll(queue, 0, &events), OCTAVO_OK);
  for (std::size_t i = 0; events != nullptr && i < events->count; ++i) {
    if (events->events[i].kind == OCTAVO_TOKEN) ++ending.num_tokens;
    if (events->events[i].kind == OCTAVO_END) ending.status = static_cast<octavo_status>(events->events[i].status);
  }
  octavo_events_free(events);
  return ending;
}

TEST(CapiCallbacks, ACallThatIsCancelledBeforeSubmitReturnsDoesNotRun) {
  const octavo_handle model = load_tiny(true), queue = open_queue();
  std::atomic<int> round = 0, cancelled = 0;
  std::uint64_t id = 0;
  constexpr int kRounds = 300;
  std::thread cancels([&] {
    for (int i = 1; i <= kRounds; ++i) {
      std::uint64_t found = 0;
      wait_until([&] { return round >= i && (found = std::atomic_ref(id).load()) != 0; });
      EXPECT_EQ(octavo_cancel(model, found), OCTAVO_OK);
      cancelled = i;
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    std::atomic_ref(id).store(0);
    round = i;
    EXPECT_EQ(submit_long(model, queue, &id, i % 4 == 0), OCTAVO_OK) << message_of_last();
    wait_until([&] { return cancelled >= i; });
    const Ending ending = run_to_end(model, queue);
    EXPECT_EQ(ending.status, OCTAVO_STOPPED) << i;
    EXPECT_LE(ending.num_tokens, 1) << i;  // the event that says so
  }
  cancels.join();
  EXPECT_EQ(octavo_close(queue), OCTAVO_OK);
  EXPECT_EQ(octavo_close(model), OCTAVO_OK);
}

/// The logits of a prompt of so many tokens: bytes of the rows that a queue told, and how the request has ended.
struct RowsTold {
  std::size_t bytes = 0;
  octavo_status status = OCTAVO_OK;
  std::string why = {};
};

RowsTold rows_of(octavo_handle model, octavo_handle queue, std::size_t num_tokens) {
  const std::vector<std::int32_t> tokens(num_tokens, 6);
  octavo_request request = {};
  request.size = sizeof request;
  request.tokens = tokens.data();
  request.num_tokens = tokens.size();
  request.form = OCTAVO_TOKENS;
  request.wants_logits = 1;
  EXPECT_EQ(octavo_submit(model, queue, &request, nullptr), OCTAVO_OK) << message_of_last();
  std::int32_t has_more = 1;
  while (has_more != 0) EXPECT_EQ(octavo_step(model, &has_more), OCTAVO_OK);
  RowsTold told;
  octavo_events* events = nullptr;
  EXPECT_EQ(octavo_poll(queue, 0, &events), OCTAVO_OK);
  for (std::size_t i = 0; events != nullptr && i < events->count; ++i) {
    const octavo_event& event = events->events[i];
    told.bytes += event.num_rows * event.width * sizeof(float);
    if (event.kind != OCTAVO_END) continue;
    told.status = static_cast<octavo_status>(event.status);
    told.why = std::string(event.text, event.text_size);
  }
  octavo_events_free(events);
  return told;
}

TEST(CapiWaiting, EventsThatWaitHaveABoundBeyondWhichTheRequestEnds) {
  constexpr std::size_t kRow = kTinyVocab * sizeof(float), kMost = 300 * kRow;
  const octavo_handle model = load_tiny(true), queue = open_queue(nullptr, nullptr, kMost);
  const RowsTold few = rows_of(model, queue, 200);
  EXPECT_EQ(few.bytes, 200 * kRow);
  EXPECT_EQ(few.status, OCTAVO_OK) << few.why;
  const RowsTold many = rows_of(model, queue, 900);
  EXPECT_LE(many.bytes, kMost);
  EXPECT_GT(many.bytes, 0U);
  EXPECT_EQ(many.status, OCTAVO_NO_MEMORY);
  EXPECT_THAT(many.why, testing::HasSubstr("found events of more than " + std::to_string(kMost) + " bytes that wait"));
  EXPECT_EQ(rows_of(model, queue, 200).status, OCTAVO_OK) << "what was polled counts no more";
  ASSERT_EQ(submit_long(model, queue), OCTAVO_OK) << message_of_last();
  const Ending ending = run_to_end(model, queue);
  EXPECT_EQ(ending.status, OCTAVO_NO_MEMORY);
  EXPECT_GT(ending.num_tokens, 0);
  EXPECT_LT(ending.num_tokens, 3000);
  const octavo_handle unless_told = open_queue();
  EXPECT_EQ(rows_of(model, unless_told, 900).bytes, 900 * kRow);
  for (const octavo_handle handle : {queue, unless_told, model}) EXPECT_EQ(octavo_close(handle), OCTAVO_OK);
}

}  // namespace
}  // namespace octavo::test
