// The server's parts that need no connection: routes, event queues, what counts as progress.
#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <thread>

#include "api/call/text.h"
#include "http/http_connection.h"
#include "http/page_policy.h"
#include "server/chat_page.h"
#include "server/engine_host.h"
#include "server/event_queue.h"
#include "server/metrics.h"
#include "server/model_metrics.h"
#include "server/routes.h"

namespace octavo::test {
namespace {

using boost::beast::http::verb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace server;
using namespace std::chrono_literals;

TEST(PagePolicy, LetsInTheScriptsAndStylesOfThePageAloneAndNoFrame) {
  EXPECT_EQ(policy_of_page("<style>a{}</style><p><script>b</script><script>b</script>"),
            "default-src 'none'; script-src 'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0=' "
            "'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='; "
            "style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='; connect-src 'self'; img-src data:; "
            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
  EXPECT_THAT(policy_of_page("<p>"), HasSubstr("script-src 'none'; style-src 'none';"));
}

TEST(PagePolicy, ThePagesOwnElementsAreFound) {
  const std::string policy = policy_of_page(chat_page());
  EXPECT_THAT(policy, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("style-src 'sha256-"));
}

/// The path as the route's row has it.
std::string_view path_of(verb method, std::string_view target) { return Routes().find(method, target)->row->path; }

TEST(Routes, AQueryIsNoPartOfThePath) {
  EXPECT_EQ(path_of(verb::get, "/health?x=1"), "/health");
  EXPECT_EQ(path_of(verb::get, "/"), "/");
  EXPECT_EQ(Routes().find(verb::get, "/v1/models/a/b")->argument, "a/b");
}

TEST(Routes, AModelsIdIsPercentDecodedAndMayHaveSlashes) {
  const auto id = [](std::string_view path) { return Routes().find(verb::get, path)->argument; };
  EXPECT_EQ(id("/v1/models/org/name"), "org/name");
  EXPECT_EQ(id("/v1/models/org%2Fname?x=%2F"), "org/name");
  EXPECT_EQ(id("/v1/models/na%c3%Afve%20%25"), "na\xC3\xAFve %");
  for (const char* broken : {"/v1/models/a%", "/v1/models/a%2", "/v1/models/%g0", "/v1/models/%-1"}) {
    const ApiError error = Routes().find(verb::get, broken).error();
    EXPECT_EQ(error.status, 400) << broken;
    EXPECT_EQ(error.param, "id");
  }
}

TEST(Routes, AnIdMayStandInTheMiddleAndOneWithSlashesIsAnotherPath) {
  EXPECT_EQ(Routes().find(verb::get, "/v1/responses/resp_1")->argument, "resp_1");
  EXPECT_EQ(path_of(verb::delete_, "/v1/responses/resp_1?x"), "/v1/responses/{id}");
  EXPECT_EQ(path_of(verb::get, "/v1/responses/resp_1/input_items?limit=1"), "/v1/responses/{id}/input_items");
  EXPECT_EQ(Routes().find(verb::get, "/v1/responses/resp_1/input_items")->argument, "resp_1");
  EXPECT_EQ(path_of(verb::post, "/v1/responses/input_tokens"), "/v1/responses/input_tokens");
  EXPECT_EQ(Routes().find(verb::post, "/v1/responses/resp_1/cancel").error().status, 404);
  EXPECT_EQ(Routes().find(verb::get, "/v1/responses/").error().status, 405);
  EXPECT_EQ(Routes().find(verb::post, "/v1/responses/resp_1").error().status, 405);
  EXPECT_EQ(Routes().allowed_methods("/v1/responses/resp_1"), "GET, HEAD, DELETE");
  EXPECT_EQ(Routes().allowed_methods("/v1/responses"), "POST");
  EXPECT_EQ(Routes().allowed_methods("/nothing"), "");
}

TEST(Routes, ATargetMayBeAWholeUrl) {
  EXPECT_EQ(path_of(verb::get, "http://host:8080/health?x"), "/health");
  EXPECT_EQ(path_of(verb::get, "https://host"), "/");
  EXPECT_EQ(Routes().find(verb::get, "/v1/models/http://a/b")->argument, "http://a/b");
}

TEST(Routes, WhatIsWrongIsToldApart) {
  EXPECT_EQ(Routes().find(verb::get, "").error().status, 404);
  EXPECT_EQ(Routes().find(verb::get, "*").error().status, 404);
  EXPECT_EQ(Routes().find(verb::post, "/health").error().status, 405);
  EXPECT_EQ(Routes().find(verb::unknown, "/v1/completions").error().status, 405);
}

TEST(Text, ASlugIsFitForAUrl) {
  EXPECT_EQ(slug("SmolLM2 135M  Instruct!"), "smollm2-135m-instruct");
  EXPECT_EQ(slug("gemma-3_1.5"), "gemma-3_1.5");
  EXPECT_EQ(slug("///"), "model");
}

ModelInfo named(const std::string& name, const std::string& file) {
  ModelInfo info;
  info.name = name;
  info.file_name = file;
  return info;
}

TEST(ModelNames, TheIdIsTheFilesNameUnlessThatSaysNothing) {
  const auto id_of = [](const std::string& file) { return model_id(named("Llama 3", file)); };
  EXPECT_EQ(id_of("SmolLM2-135M-Instruct.Q4_1.gguf"), "smollm2-135m-instruct.q4_1");
  EXPECT_EQ(id_of("Qwen3-32B-Q8_0-00001-of-00003.gguf"), "qwen3-32b-q8_0");
  EXPECT_EQ(id_of("Qwen3-00001-of-003.gguf"), "qwen3-00001-of-003");
  for (const char* file : {"model.gguf", "ggml-model-Q4_0.gguf", "sha256-0123456789abcdef0123456789abcdef", "", ".gguf",
                           "0123456789abcdef0123456789abcdef01234567", "Model-00001-of-00002.gguf"}) {
    EXPECT_EQ(id_of(file), "llama-3") << file;
  }
  EXPECT_EQ(id_of("deadbeef.gguf"), "deadbeef");
}

TEST(ModelNames, ItAnswersToItsFilesNameAndToAllThatItWasGiven) {
  const ModelInfo info = named("x", "Tiny.Q8_0.gguf");
  EXPECT_THAT(model_aliases(info, "tiny.q8_0", {}), ElementsAre("Tiny.Q8_0", "Tiny.Q8_0.gguf"));
  const std::vector<std::string> given = {"chat", "gpt-4o", "chat"};
  EXPECT_THAT(model_aliases(info, "chat", given), ElementsAre("gpt-4o", "Tiny.Q8_0", "Tiny.Q8_0.gguf"));
}

TEST(EventQueue, ManyEventsCostOneWakeUp) {
  boost::asio::io_context io;
  int num_ready = 0;
  Mailbox mailbox(io);
  const auto one = std::make_shared<EventQueue>(mailbox, [&](std::size_t) { ++num_ready; });
  const auto two = std::make_shared<EventQueue>(mailbox, [&](std::size_t) { ++num_ready; });
  std::thread engine([&] {
    for (int i = 0; i < 100; ++i) {
      one->push(0, {.token = i, .text = "x"});
      two->push(1, {.token = i, .text = "y"});
    }
  });
  engine.join();
  EXPECT_EQ(io.run(), 1U);  // handlers
  EXPECT_EQ(num_ready, 2);
  std::vector<EventQueue::Item> items;
  one->take(items);
  ASSERT_EQ(items.size(), 100U);
  EXPECT_EQ(items[99].event.token, 99);
  one->push(0, {.token = 7});
  io.restart();
  io.run();
  EXPECT_EQ(num_ready, 3);
}

TEST(EventQueue, CountsEveryChoiceThatHasEndedWhetherItIsTakenOrLost) {
  boost::asio::io_context io;
  Mailbox mailbox(io);
  const auto queue = std::make_shared<EventQueue>(mailbox, [](std::size_t) {});
  queue->push(0, TokenEvent{.text = "a"});
  EXPECT_EQ(queue->num_ended(), 0U);
  queue->push(0, TokenEvent{.finish = FinishReason::kLength});
  const std::atomic<std::size_t> too_long = std::string::npos - 1;  // that memory could hold it, as compilers see
  queue->push(1, TokenEvent{.text = {"a", too_long}});
  queue->push(1, TokenEvent{.finish = FinishReason::kCancelled});
  std::vector<EventQueue::Item> items;
  EXPECT_FALSE(queue->take(items));
  EXPECT_EQ(items.size(), 2U);
  EXPECT_EQ(queue->num_ended(), 2U);
}

TEST(EventQueue, ProgressThatWaitsGivesWayToLaterProgressOfItsPrompt) {
  boost::asio::io_context io;
  Mailbox mailbox(io);
  std::size_t waiting_bytes = 0;
  const auto queue = std::make_shared<EventQueue>(mailbox, [&](std::size_t num_bytes) { waiting_bytes = num_bytes; });
  for (int computed = 1; computed <= 100; ++computed) {
    for (const std::size_t prompt : {0U, 1U}) queue->push(prompt, PromptProgress{.computed_tokens = computed});
  }
  queue->push(1, TokenEvent{.token = 7});
  io.run();
  EXPECT_EQ(waiting_bytes, 3 * sizeof(EventQueue::Item));
  std::vector<EventQueue::Item> items;
  EXPECT_TRUE(queue->take(items));
  ASSERT_EQ(items.size(), 3U);
  for (const std::size_t prompt : {0U, 1U}) {
    EXPECT_EQ(items[prompt].event.prompt_index, prompt);
    ASSERT_TRUE(items[prompt].event.progress);
    EXPECT_EQ(items[prompt].event.progress->computed_tokens, 100);
  }
  EXPECT_FALSE(items[2].event.progress);
  EXPECT_EQ(items[2].event.prompt_index, 1U);

  queue->push(0, TokenEvent{.token = 8});  // stands where the progress stood that was taken
  queue->push(0, PromptProgress{.computed_tokens = 3});
  EXPECT_TRUE(queue->take(items));
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].event.token, 8);
  ASSERT_TRUE(items[1].event.progress);
  EXPECT_EQ(items[1].event.progress->computed_tokens, 3);
}

TEST(EventQueue, AClosedOneTakesNothingAndTellsNobody) {
  boost::asio::io_context io;
  int num_ready = 0;
  Mailbox mailbox(io);
  const auto queue = std::make_shared<EventQueue>(mailbox, [&](std::size_t) { ++num_ready; });
  queue->push(0, {.token = 1});
  queue->close();
  queue->push(0, {.token = 2});
  io.run();
  EXPECT_EQ(num_ready, 0);
}

TEST(Progress, AnEngineIsStalledOnlyWhileItHasWork) {
  ProgressWatch watch(1000ms);
  const Clock::time_point start{};
  EngineStats stats;
  watch.update(stats, start);
  watch.update(stats, start + 10s);
  EXPECT_FALSE(watch.stalled(start + 10s));
  stats.waiting = 1;
  watch.update(stats, start + 10500ms);
  EXPECT_FALSE(watch.stalled(start + 10900ms));
  EXPECT_TRUE(watch.stalled(start + 11100ms));
  stats.steps = 1;
  watch.update(stats, start + 11200ms);
  EXPECT_FALSE(watch.stalled(start + 11300ms));
}

TEST(Metrics, StepsBetweenTwoLooksCountAsTheirMean) {
  Metrics metrics;
  ModelMetrics& model = metrics.of_model("m");
  EngineStats stats;
  stats.steps = 3;
  stats.step_s = 0.012 + 0.012 + 0.15;
  stats.last_step_s = 0.15;
  model.observe_steps(stats);
  model.observe_steps(stats);
  const ModelStats listed[] = {{"m", stats}, {"n", {}}};
  const std::string text = metrics.text(listed);
  EXPECT_THAT(text, HasSubstr("octavo:step_time_seconds_count{model_name=\"m\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("octavo:step_time_seconds_bucket{model_name=\"m\",le=\"0.01\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("octavo:step_time_seconds_bucket{model_name=\"m\",le=\"0.02\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("octavo:engine_steps_total{model_name=\"m\"} 3\n"
                              "octavo:engine_steps_total{model_name=\"n\"} 0\n"));
}

TEST(Metrics, DraftsHaveVllmsNames) {
  EngineStats stats;
  stats.drafts = 4;
  stats.drafted_tokens = 12;
  stats.accepted_draft_tokens = 5;
  stats.accepted_drafts_at[0] = 3;
  stats.accepted_drafts_at[1] = 2;
  const ModelStats listed[] = {{"m", stats}, {"n", {}}};
  const std::string text = Metrics().text(listed);
  EXPECT_THAT(text, HasSubstr("octavo:spec_decode_num_drafts_total{model_name=\"m\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("octavo:spec_decode_num_draft_tokens_total{model_name=\"m\"} 12\n"));
  EXPECT_THAT(text, HasSubstr("octavo:spec_decode_num_accepted_tokens_total{model_name=\"m\"} 5\n"));
  EXPECT_THAT(text,
              HasSubstr("octavo:spec_decode_num_accepted_tokens_per_pos_total{model_name=\"m\",position=\"1\"} 2\n"));
}

TEST(Metrics, TheDeviceOfAModelIsUpUntilItHasFailed) {
  EngineStats failed;
  failed.fault = "NVIDIA H100 failed to finish a step: CUDA_ERROR_ILLEGAL_ADDRESS";
  const ModelStats listed[] = {{"m", {}, "cpu"}, {"n", failed, "NVIDIA H100 with 2 of 2 layers"}};
  const std::string text = Metrics().text(listed);
  EXPECT_THAT(text, HasSubstr("octavo:device_up{model_name=\"m\",device=\"cpu\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("octavo:device_up{model_name=\"n\",device=\"NVIDIA H100 with 2 of 2 layers\"} 0\n"));
}

TEST(Metrics, AnEngineThatWasLoadedAnewBeginsAtNoSteps) {
  Metrics metrics;
  EngineStats stats;
  stats.steps = 5;
  stats.step_s = 0.5;
  stats.last_step_s = 0.1;
  metrics.of_model("m").observe_steps(stats);
  stats.steps = 1;
  stats.step_s = 0.1;
  metrics.of_model("m").observe_steps(stats);
  EXPECT_THAT(metrics.text({}), HasSubstr("octavo:step_time_seconds_count{model_name=\"m\"} 6\n"));
}

}  // namespace
}  // namespace octavo::test
