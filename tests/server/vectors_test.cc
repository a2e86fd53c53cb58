// Calls for vectors over HTTP: how many of their texts the engine has at once, and how they end.
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "api/call/vector_call.h"
#include "server/test_client.h"

namespace octavo::test {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Texts : public ServerTest {
 protected:
  Texts() {
    script_.embedding = {.generates = false, .pooling = Pooling::kMean, .width = 2, .labels = {""}};
    script_.context = 200'000;
  }

  static std::string embeddings(std::size_t count, const std::string& more = "", const std::string& headers = "") {
    const std::string texts = json::serialize(json::array(count, "abc"));
    return post("/v1/embeddings", R"({"input": )" + texts + R"(, "normalize": false)" + more + "}", headers);
  }
  std::size_t num_requests() {
    const std::lock_guard lock(script_.mutex);
    return script_.requests.size();
  }
  std::size_t most_active() {
    const std::lock_guard lock(script_.mutex);
    return script_.most_active;
  }
};

json::value body_of(const std::string& answer) { return json::parse(answer.substr(answer.find("\r\n\r\n") + 4)); }

TEST_F(Texts, TheEngineHasAFewOfACallAtATimeAndAllAreAnswered) {
  start_ready();
  const std::string answer = ask(embeddings(kMaxTexts));
  ASSERT_THAT(answer, StartsWith("HTTP/1.1 200"));
  const json::value body = body_of(answer);
  ASSERT_EQ(body.at("data").as_array().size(), kMaxTexts);
  for (std::size_t i = 0; i < kMaxTexts; ++i) ASSERT_EQ(body.at("data").at(i).at("index").to_number<std::size_t>(), i);
  EXPECT_EQ(json::serialize(body.at_pointer("/data/7/embedding")), "[3,0]");
  EXPECT_EQ(body.at_pointer("/usage/prompt_tokens"), 3 * kMaxTexts);
  EXPECT_EQ(most_active(), kMaxTextsAtOnce);
  EXPECT_EQ(num_requests(), kMaxTexts);
}

TEST_F(Texts, LongTextsGoFewerAtATime) {
  start_ready();
  const auto expect_at_a_time = [&](std::size_t count, std::size_t num_tokens, int most) {
    script_.most_active = 0;
    script_.held = true;
    TestClient client(port_);
    const json::string text(num_tokens, 'a');
    client.send(post("/v1/embeddings", json::serialize(json::object{{"input", json::array(count, text)}})));
    EXPECT_TRUE(eventually([&] { return script_.num_running == most; }));
    script_.held = false;
    EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200"));
    EXPECT_EQ(most_active(), static_cast<std::size_t>(most));
  };
  expect_at_a_time(12, kMaxTokensAtOnce / 8, 8);
  expect_at_a_time(1, kMaxTokensAtOnce * 3 / 2, 1);
}

TEST_F(Texts, AFullQueueIsWaitedForOnceACallHasBegun) {
  script_.max_queued = 3;
  start_ready();
  EXPECT_THAT(ask(embeddings(20)), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(most_active(), 3);
  script_.held = true;
  TestClient first(port_);
  first.send(embeddings(20));
  ASSERT_TRUE(eventually([&] { return script_.num_running == 3; }));
  EXPECT_THAT(ask(embeddings(1)), AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After")));
  script_.held = false;
  EXPECT_THAT(first.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Texts, AClientThatHangsUpLeavesNothingBehind) {
  start_ready();
  script_.held = true;
  TestClient client(port_);
  client.send(embeddings(500));
  ASSERT_TRUE(eventually([&] { return script_.num_running == static_cast<int>(kMaxTextsAtOnce); }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return script_.num_running == 0; }));
  script_.held = false;
  EXPECT_THAT(ask(embeddings(1)), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(num_requests(), kMaxTextsAtOnce + 1);
}

TEST_F(Texts, ADrainServesACallThatHasBegunToItsEnd) {
  start_ready();
  script_.held = true;
  TestClient client(port_);
  client.send(embeddings(200));
  ASSERT_TRUE(eventually([&] { return script_.num_running == static_cast<int>(kMaxTextsAtOnce); }));
  server_->drain();
  ASSERT_TRUE(eventually([&] { return script_.num_running == 200; }));
  script_.held = false;
  const std::string answer = client.read_answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(body_of(answer).at("data").as_array().size(), 200);
}

TEST_F(Texts, ADeadlineCountsForAllTextsTogether) {
  start_ready();
  script_.step_time = 20ms;
  EXPECT_THAT(ask(embeddings(200, R"(, "deadline_s": 500)")), StartsWith("HTTP/1.1 200"));
  const std::lock_guard lock(script_.mutex);
  EXPECT_EQ(script_.requests.front().deadline_s, 500);
  EXPECT_LT(script_.requests.back().deadline_s, 500);
  EXPECT_GT(script_.requests.back().deadline_s, 400);
}

TEST_F(Texts, ACallCountsInMetricsAsOthersDo) {
  start_ready();
  EXPECT_THAT(ask(embeddings(3)), StartsWith("HTTP/1.1 200"));
  const std::string metrics = ask(get("/metrics"));
  EXPECT_THAT(metrics, HasSubstr("octavo:request_prompt_tokens_sum{model_name=\"scripted-engine-1\"} 9"));
  EXPECT_THAT(metrics, HasSubstr("octavo:http_requests_total{route=\"/v1/embeddings\",status=\"200\"} 1"));
}

TEST_F(Texts, RanksAndErrorsHaveTheFormsOfTheirRoutes) {
  start_ready();
  for (const char* path : {"/rerank", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking"})
    EXPECT_THAT(ask(post(path, R"({"query": "a", "documents": ["b", "cde"], "top_n": 1, "raw_scores": true})")),
                HasSubstr(R"("results":[{"index":1,"relevance_score":4}])"))
        << path;
  EXPECT_THAT(ask(post("/rerank", R"({"query": "a", "texts": ["b"], "raw_scores": true})")),
              HasSubstr("\r\n\r\n[{\"index\":0,\"score\":2}]"));
  EXPECT_THAT(ask(post("/embed", R"({"inputs": [5]})")), Not(HasSubstr("invalid_request_error")));
  EXPECT_THAT(ask(post("/embed", R"({"inputs": true})")), HasSubstr(R"("error_type":"Validation")"));
  EXPECT_THAT(ask(post("/rerank", "{}")), HasSubstr(R"({"error":"query: found none, expected a string","error_type")"));
  EXPECT_THAT(ask(post("/v2/rerank", "{}")), HasSubstr("\r\n\r\n{\"message\":\"query: found none"));
  for (const char* path : {"/v1/rerank", "/reranking"})
    EXPECT_THAT(ask(post(path, "{}")), HasSubstr(R"("code":"missing_required_parameter")")) << path;
  EXPECT_THAT(ask(post("/api/embed", R"({"input": true})")), HasSubstr(R"({"error":"input: found true)"));
  EXPECT_THAT(ask(post("/embedding", R"({"content": "abc", "embd_normalize": -1})")),
              HasSubstr(R"([{"index":0,"embedding":[[3,0]]}])"));
  EXPECT_THAT(ask(post("/score", R"({"text_1": "a", "text_2": "b", "raw_scores": true})")), HasSubstr(R"("score":2})"));
}

TEST_F(Texts, EveryPathOfRanksAndScoresIsDescribedWithTheFormOfItsErrors) {
  start_ready();
  const json::value paths = body_of(ask(get("/openapi.json"))).at("paths");
  const auto errors = [&](const char* path) {
    return paths.at(path).at("post").at("responses").at("400").at_pointer("/content/application~1json/schema/$ref");
  };
  EXPECT_EQ(errors("/reranking"), errors("/v1/rerank"));
  EXPECT_EQ(errors("/score"), errors("/v1/score"));
  EXPECT_EQ(errors("/rerank"), errors("/embed"));
  EXPECT_EQ(errors("/v2/rerank"), errors("/v2/embed"));
}

TEST_F(Texts, AnEncoderIsToldApartByThoseWhoAskWhatAModelIs) {
  start_ready();
  EXPECT_THAT(ask(get("/v1/models")), HasSubstr(R"("capabilities":["embedding","rerank"])"));
  EXPECT_THAT(ask(get("/props")), HasSubstr(R"("pooling":"mean")"));
  EXPECT_THAT(ask(post("/api/show", "{}")),
              AllOf(HasSubstr(R"("capabilities":["embedding"])"), HasSubstr(R"(.embedding_length":2)")));
  EXPECT_THAT(ask(get("/api/tags")), HasSubstr(R"("capabilities":["embedding"])"));
  EXPECT_THAT(ask(completion(3, false)), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("is an encoder")));
}

TEST_F(Texts, AModelThatWritesMakesVectorsWithTheServersOption) {
  script_.embedding.generates = true;
  start_ready();
  EXPECT_THAT(ask(embeddings(1)), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("--embedding")));
  EXPECT_THAT(ask(post("/api/show", "{}")), HasSubstr(R"("capabilities":["completion"])"));
  stop();
  options_.requests.embeds = true;
  start_ready();
  EXPECT_THAT(ask(embeddings(1)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(completion(3, false)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(post("/api/show", "{}")), HasSubstr(R"("capabilities":["completion","embedding"])"));
}

}  // namespace
}  // namespace octavo::test
