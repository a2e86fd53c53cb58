// The life of a server: loading, serving, overload, draining.
#include <gmock/gmock.h>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Life = ServerTest;

TEST_F(Life, ThePortIsOpenWhileTheModelIsLoaded) {
  std::atomic<bool> go = false;
  start([&]() -> Result<std::unique_ptr<Engine>> {
    while (!go) std::this_thread::sleep_for(1ms);
    return std::make_unique<ScriptedEngine>(script_);
  });
  EXPECT_THAT(ask(get("/health")),
              AllOf(StartsWith("HTTP/1.1 503"),
                    EndsWith(R"({"error":{"message":"Loading model","type":"unavailable_error","code":503}})")));
  EXPECT_THAT(ask(get("/version")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(get("/ready")), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(ask(get("/metrics")), StartsWith("HTTP/1.1 200"));
  const std::string refused = ask(completion(1, false));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(refused, HasSubstr("\r\nRetry-After: "));
  go = true;
  EXPECT_TRUE(eventually([this] { return ask(get("/ready")).starts_with("HTTP/1.1 200"); }));
  EXPECT_THAT(ask(get("/health")), AllOf(StartsWith("HTTP/1.1 200"), EndsWith(R"({"status":"ok"})")));
  EXPECT_THAT(ask(completion(1, false)), StartsWith("HTTP/1.1 200"));
}

TEST_F(Life, SlotsTellWhatRunsHowFarItIsAndNoText) {
  options_.engine.max_sequences = 3;
  script_.held = true;
  start_ready();
  const auto slots = [this] { return ask(get("/slots")); };
  const std::string free =
      R"({"id":0,"n_ctx":10000,"speculative":true,"is_processing":false,"device":"cpu","threads":2})";
  EXPECT_THAT(slots(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\r\n\r\n[" + free + R"(,{"id":1,)")));
  TestClient client(port_);
  client.send(completion(4, false));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  EXPECT_THAT(
      slots(),
      HasSubstr(R"("is_processing":true,"device":"cpu","threads":2,"model":"scripted-engine-1","n_prompt_tokens":3,)"
                R"("n_prompt_tokens_processed":0,"n_prompt_tokens_cache":0,)"
                R"("next_token":[{"has_next_token":true,"n_decoded":0}]},{"id":1,)"));
  script_.prompt_tokens_read = 3;
  script_.held = false;
  EXPECT_TRUE(eventually([&] {
    return slots().contains(R"("n_prompt_tokens_processed":1,"n_prompt_tokens_cache":2)");
  })) << slots();
  EXPECT_THAT(slots(), Not(HasSubstr("abc")));
  EXPECT_THAT(ask(get("/slots?model=other")), StartsWith("HTTP/1.1 404"));
  script_.prompt_tokens_read = -1;
  client.read_answer();
  EXPECT_TRUE(eventually([&] { return slots().contains("[" + free); })) << "it has ended";
}

TEST_F(Life, SlotsTellWhoseTokensAreGuessedAhead) {
  const auto begin_of_slots = [this](const std::string& field) {
    script_.held = true;
    TestClient client(port_);
    client.send(completion(4, false, field));
    EXPECT_TRUE(eventually([this] { return script_.num_running == 1; }));
    const std::string slots = ask(get("/slots"));
    script_.held = false;
    client.read_answer();
    return slots.substr(slots.find('['));
  };
  const std::string guessed = R"([{"id":0,"n_ctx":10000,"speculative":true,"is_processing":true,)";
  const std::string plain = R"([{"id":0,"n_ctx":10000,"speculative":false,"is_processing":true,)";
  start_ready();
  EXPECT_THAT(begin_of_slots(""), StartsWith(guessed));
  EXPECT_THAT(begin_of_slots(R"(, "speculation": {"max": 1})"), StartsWith(guessed));
  EXPECT_THAT(begin_of_slots(R"(, "speculation": false)"), StartsWith(plain));
  stop();
  options_.engine.draft = DraftMode::kOff;
  start_ready();
  EXPECT_THAT(begin_of_slots(""), StartsWith(plain));
  EXPECT_THAT(
      ask(get("/slots")),
      HasSubstr(R"([{"id":0,"n_ctx":10000,"speculative":false,"is_processing":false,"device":"cpu","threads":2})"));
}

TEST_F(Life, ThePageAndSlotsMayBeLeftOut) {
  start_ready();
  EXPECT_THAT(ask(get("/")), StartsWith("HTTP/1.1 200"));
  stop();
  options_.has_chat_page = options_.has_slots = false;
  start_ready();
  EXPECT_THAT(ask(get("/")), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("--no-ui")));
  EXPECT_THAT(ask(get("/slots")), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("--no-slots")));
}

TEST_F(Life, AModelThatCannotBeLoadedEndsTheServer) {
  start([]() -> Result<std::unique_ptr<Engine>> { return fail("model.gguf: not there"); });
  const Result<void> result = result_.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "model.gguf: not there");
}

TEST_F(Life, ModelsAreListedByTheirSlug) {
  start_ready();
  EXPECT_THAT(ask(get("/v1/models")), HasSubstr(R"("id":"scripted-engine-1","object":"model")"));
  EXPECT_THAT(ask(get("/v1/models/scripted-engine-1")), StartsWith("HTTP/1.1 200"));
  const std::string other = ask(get("/v1/models/other"));
  EXPECT_THAT(other, StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(other, HasSubstr("model_not_found"));
}

TEST_F(Life, TokensAreStreamedAsTheyAreMade) {
  script_.held = true;
  start_ready();
  TestClient client(port_);
  client.send(completion(3, true));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked"));
  script_.held = false;
  const std::string body = client.read_until("0\r\n\r\n");
  EXPECT_THAT(body, HasSubstr("\"text\":\"word \""));
  EXPECT_THAT(body, HasSubstr("data: [DONE]\n\n"));
}

TEST_F(Life, TheBreakersOfARequestAreLookedForOnTheThreadsThatReadBodies) {
  start_ready();
  const std::string body =
      R"({"prompt": "abc", "max_tokens": 2, "dry_multiplier": 0.8, "dry_sequence_breakers": ["q"]})";
  EXPECT_THAT(ask(post("/v1/completions", body)), StartsWith("HTTP/1.1 200"));
  const std::lock_guard lock(script_.mutex);
  EXPECT_NE(script_.breakers.searched_by, std::thread::id());
  EXPECT_NE(script_.breakers.searched_by, script_.breakers.submitted_by) << "the thread of all connections";
  EXPECT_TRUE(script_.breakers.is_held_at_submit);
}

TEST_F(Life, AFullQueueIs429) {
  script_.held = true;
  script_.max_queued = 1;
  start_ready();
  TestClient first(port_);
  first.send(completion(2, true));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  const std::string answer = ask(completion(2, false));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(answer, HasSubstr("\r\nRetry-After: "));
}

TEST_F(Life, ACallWhosePromptsDoNotAllFitLeavesNoneBehind) {
  script_.held = true;
  script_.max_queued = 2;
  start_ready();
  EXPECT_THAT(ask(post("/v1/completions", R"({"prompt": ["a", "b", "c"], "max_tokens": 5})")),
              StartsWith("HTTP/1.1 429"));
  EXPECT_EQ(script_.num_running, 0);
}

TEST_F(Life, ACallThatCouldNeverWaitAsAWholeIsAWrongOne) {
  options_.engine.max_queued = 2;
  options_.engine.max_queued_tokens = 10;
  start_ready();
  const auto ask_for = [&](const std::string& fields) { return ask(post("/v1/completions", fields)); };
  const std::string prompts = ask_for(R"({"prompt": ["a", "b", "c"], "max_tokens": 5})");
  EXPECT_THAT(prompts, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(prompts, HasSubstr("found 3 prompts, expected at most 2"));
  const std::string tokens = ask_for(R"({"prompt": "abc", "n": 4, "max_tokens": 5})");
  EXPECT_THAT(tokens, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(tokens, HasSubstr("found 12 tokens in prompts, each counted for its 4 answers, expected at most 10"));
  EXPECT_EQ(script_.num_submitted, 0);
  EXPECT_THAT(ask_for(R"({"prompt": "abc", "n": 3, "max_tokens": 5})"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Life, RequestsBelongToTheirAddress) {
  start_ready();
  ask(completion(1, false));
  EXPECT_EQ(script_.requests.at(0).owner, "address 127.0.0.1");
}

TEST_F(Life, WithKeysRequestsBelongToTheirKey) {
  files_.keys = *server::ApiKeys::parse("one-one-one-one-one\ntwo-two-two-two-two\n", "keys");
  start_ready();
  for (const char* key : {"one-one-one-one-one", "two-two-two-two-two", "one-one-one-one-one"}) {
    ask(post("/v1/completions", R"({"prompt": "abc", "max_tokens": 1})",
             fmt::format("Authorization: Bearer {}\r\n", key)));
  }
  ASSERT_EQ(script_.requests.size(), 3U);
  EXPECT_THAT(script_.requests[0].owner, StartsWith("key "));
  EXPECT_EQ(script_.requests[0].owner, script_.requests[2].owner);
  EXPECT_NE(script_.requests[0].owner, script_.requests[1].owner);
}

TEST_F(Life, ReadyFailsWhileTheEngineMakesNoStepAlthoughItHasWork) {
  options_.models.stall_timeout = 300ms;
  start_ready();
  EXPECT_THAT(ask(get("/ready")), StartsWith("HTTP/1.1 200"));
  script_.held = true;
  TestClient client(port_);
  client.send(completion(2, true));
  EXPECT_TRUE(eventually([this] { return ask(get("/ready")).starts_with("HTTP/1.1 503"); }));
  script_.held = false;
  client.read_until("[DONE]");
  EXPECT_TRUE(eventually([this] { return ask(get("/ready")).starts_with("HTTP/1.1 200"); }));
}

TEST_F(Life, DrainingFinishesWhatRuns) {
  script_.held = true;
  start_ready();
  TestClient client(port_), idle(port_);
  idle.send(get("/health"));
  idle.read_answer();
  client.send(completion(50, true));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  server_->drain();
  EXPECT_TRUE(idle.at_end());
  script_.held = false;
  EXPECT_THAT(client.read_to_end(), HasSubstr("[DONE]"));
  EXPECT_TRUE(result_.get());
  EXPECT_EQ(script_.num_cancelled, 0);
}

TEST_F(Life, WhileDrainingAConnectionThatWasLetInGetsAnAnswer) {
  script_.held = true;
  start_ready();
  TestClient running(port_), fresh(port_);
  running.send(completion(50, true));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 1; }));
  server_->drain();
  std::this_thread::sleep_for(50ms);
  fresh.send(completion(1, false));
  const std::string answer = fresh.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(answer, HasSubstr("Retry-After"));
}

TEST_F(Life, AfterTheDrainTimeoutWhatRunsEndsWithAnError) {
  options_.drain_timeout = 200ms;
  script_.held = true;
  start_ready();
  TestClient streamed(port_), whole(port_);
  streamed.send(completion(50, true));
  whole.send(completion(50, false));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 2; }));
  server_->drain();
  EXPECT_THAT(streamed.read_to_end(), HasSubstr("data: {\"error\""));
  EXPECT_THAT(whole.read_to_end(), StartsWith("HTTP/1.1 503"));
  EXPECT_TRUE(result_.get());
}

TEST_F(Life, ADeadlineMayComeAsAHeader) {
  start_ready();
  ask(post("/v1/completions", R"({"prompt": "a", "max_tokens": 1})", "X-Request-Timeout: 2.5\r\n"));
  {
    const std::lock_guard lock(script_.mutex);
    ASSERT_EQ(script_.requests.size(), 1U);
    EXPECT_THAT(script_.requests[0].deadline_s, ::testing::AllOf(::testing::Le(2.5), ::testing::Gt(0)))
        << "less what was spent before";
  }
  for (const char* wrong : {"0", "-1", "soon", "1e9", "nan"})
    EXPECT_THAT(ask(post("/v1/completions", R"({"prompt": "a"})", fmt::format("X-Request-Timeout: {}\r\n", wrong))),
                StartsWith("HTTP/1.1 400"));
}

TEST_F(Life, WithoutAKeyNothingOfTheModelIsSeen) {
  files_.keys = *server::ApiKeys::parse("# mine\nsecret-secret-secret\nother-other-other\n", "keys");
  start_ready();
  EXPECT_THAT(ask(get("/health")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(get("/v1/models")), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask(get("/models")), StartsWith("HTTP/1.1 401"));
  for (const char* path : {"/models/load", "/models/unload"})
    EXPECT_THAT(ask(post(path, R"({"model": "scripted-engine-1"})")), StartsWith("HTTP/1.1 401")) << path;
  EXPECT_THAT(ask(get("/v1/models", "Authorization: Bearer wrong-wrong-wrong\r\n")), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask(get("/v1/models", "Authorization: Bearer secret-secret-secret\r\n")), StartsWith("HTTP/1.1 200"));
}

TEST_F(Life, EachKeyAndEachSaltHasItsOwnCache) {
  files_.keys = *server::ApiKeys::parse("one-one-one-one-one\ntwo-two-two-two-two\n", "keys");
  start_ready();
  const std::string body = R"({"prompt": "a", "max_tokens": 1})";
  ask(post("/v1/completions", body, "Authorization: Bearer one-one-one-one-one\r\n"));
  ask(post("/v1/completions", body, "Authorization: Bearer one-one-one-one-one\r\n"));
  ask(post("/v1/completions", body, "Authorization: Bearer two-two-two-two-two\r\n"));
  ask(post("/v1/completions", R"({"prompt": "a", "max_tokens": 1, "cache_salt": "s"})",
           "Authorization: Bearer one-one-one-one-one\r\n"));
  const std::lock_guard lock(script_.mutex);
  ASSERT_EQ(script_.requests.size(), 4U);
  EXPECT_EQ(script_.requests[0].cache_domain, script_.requests[1].cache_domain);
  EXPECT_NE(script_.requests[0].cache_domain, script_.requests[2].cache_domain);
  EXPECT_NE(script_.requests[0].cache_domain, script_.requests[3].cache_domain);
  EXPECT_THAT(script_.requests[0].cache_domain, Not(HasSubstr("one")));
}

TEST_F(Life, ASaltOfAnyLengthMakesAShortDomain) {
  start_ready();
  const auto send = [this](const std::string& salt) {
    ask(post("/v1/completions", R"({"prompt": ["a", "b"], "max_tokens": 1, "cache_salt": ")" + salt + "\"}"));
  };
  send(std::string(1024, 's'));
  send(std::string(1023, 's') + "t");
  const std::lock_guard lock(script_.mutex);
  ASSERT_EQ(script_.requests.size(), 4U);
  for (const Request& request : script_.requests) EXPECT_EQ(request.cache_domain.size(), 32U);
  EXPECT_EQ(script_.requests[0].cache_domain, script_.requests[1].cache_domain);
  EXPECT_NE(script_.requests[0].cache_domain, script_.requests[2].cache_domain);
}

TEST_F(Life, MetricsTellWhatWasServed) {
  start_ready();
  ask(completion(5, false));
  TestClient client(port_);
  client.send(get("/metrics"));
  const std::string text = client.read_answer();
  EXPECT_THAT(text, HasSubstr("octavo:time_to_first_token_seconds_count{model_name=\"scripted-engine-1\"} 1"));
  EXPECT_THAT(text, HasSubstr("octavo:inter_token_latency_seconds_count{model_name=\"scripted-engine-1\"} 4"));
  EXPECT_THAT(text, HasSubstr("octavo:request_success_total"));
  EXPECT_THAT(text, HasSubstr("octavo:num_requests_running{model_name=\"scripted-engine-1\"} 0"));
  EXPECT_THAT(text, HasSubstr("octavo:http_requests_total{route=\"/v1/completions\",status=\"200\"} 1"));
}

TEST_F(Life, TokenizeAndBack) {
  start_ready();
  EXPECT_THAT(ask(post("/tokenize", R"({"prompt": "ab"})")),
              HasSubstr(R"("count":2,"max_model_len":10000,"tokens":[97,98])"));
  EXPECT_THAT(ask(post("/tokenize", R"({"messages": [{"role": "user", "content": "a"}]})")), HasSubstr("[97]"));
  EXPECT_THAT(ask(post("/detokenize", R"({"tokens": [97, 98]})")), HasSubstr(R"({"prompt":"ab","content":"ab"})"));
  EXPECT_THAT(ask(post("/detokenize", R"({"model": "", "tokens": [97, 98]})")), HasSubstr(R"({"prompt":"ab"})"));
  EXPECT_THAT(ask(post("/detokenize", R"({"tokens": [256]})")), StartsWith("HTTP/1.1 400"));
}

TEST_F(Life, TheTemplateIsAppliedWithoutAnAnswer) {
  start_ready();
  EXPECT_THAT(ask(post("/apply-template", R"({"messages": [{"role": "user", "content": "a\"b"}]})")),
              HasSubstr(R"({"prompt":"a\"b"})"));
  EXPECT_THAT(ask(post("/apply-template", R"({"prompt": "a"})")), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(post("/apply-template", R"({"model": "gpt-4", "messages": []})")), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask(get("/apply-template")), StartsWith("HTTP/1.1 405"));
}

TEST_F(Life, TokensOfAnotherModelAreNotFound) {
  start_ready();
  for (const std::string body : {R"("prompt": "a")", R"("messages": [{"role": "user", "content": "a"}])"}) {
    EXPECT_THAT(ask(post("/tokenize", R"({"model": "scripted-engine-1", )" + body + "}")), StartsWith("HTTP/1.1 200"));
    const std::string answer = ask(post("/tokenize", R"({"model": "gpt-4", )" + body + "}"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404"));
    EXPECT_THAT(answer, HasSubstr(R"("code":"model_not_found")"));
  }
  EXPECT_THAT(ask(post("/detokenize", R"({"model": null, "tokens": [97]})")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(post("/detokenize", R"({"model": "gpt-4", "tokens": [97]})")), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask(post("/detokenize", R"({"model": 4, "tokens": [97]})")), StartsWith("HTTP/1.1 400"));
}

}  // namespace
}  // namespace octavo::test
