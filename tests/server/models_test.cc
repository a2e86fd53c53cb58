// A server of several models, as its clients see it.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <map>

#include "api/answers/iso_time.h"
#include "server/test_client.h"

namespace octavo::test {
namespace {

using server::ModelEntry;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace json = boost::json;

class SeveralModels : public ServerTest {
 protected:
  SeveralModels() {
    a_.piece = "apple ";
    b_.piece = "berry ";
    a_.weight_bytes = b_.weight_bytes = 60;
  }
  ~SeveralModels() override {
    load_is_held_ = false;
    a_.held = b_.held = false;
    stop();
  }
  ModelEntry entry(const std::string& name, EngineScript& script) {
    return {.names = {name, name + ".gguf"},
            .load = [this, &script](const std::stop_token&) -> Result<std::unique_ptr<Engine>> {
              ++num_loads_;
              while (load_is_held_) std::this_thread::sleep_for(1ms);
              return std::make_unique<ScriptedEngine>(script);
            },
            .memory_bytes = 60};
  }
  void start_two(std::uint64_t memory_bytes = 200) {
    options_.models.memory_bytes = memory_bytes;
    std::vector<ModelEntry> models;
    models.push_back(entry("a", a_));
    models.push_back(entry("b", b_));
    start(std::move(models));
    ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  }
  static std::string completion_of(const std::string& model, int max_tokens = 2) {
    return post("/v1/completions",
                fmt::format(R"({{"model": "{}", "prompt": "abc", "max_tokens": {}}})", model, max_tokens));
  }
  json::value body_of(const std::string& request) {
    const std::string answer = ask(request);
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

  EngineScript a_, b_;
  std::atomic<bool> load_is_held_ = false;
  std::atomic<int> num_loads_ = 0;
};

TEST_F(SeveralModels, AnEmptyNameAndNoneMeanTheFirstModelOnEveryApi) {
  start_two();
  for (const std::string name : {R"("model": "", )", R"("model": null, )", ""}) {
    const auto asked = [&](const std::string& path, const std::string& fields) {
      return ask(post(path, "{" + name + fields + "}"));
    };
    const std::string messages = R"("messages": [{"role": "user", "content": "x"}])";
    EXPECT_THAT(asked("/v1/completions", R"("prompt": "abc")"), HasSubstr(R"("model":"a")")) << name;
    EXPECT_THAT(asked("/v1/chat/completions", R"("max_tokens": 1, )" + messages), HasSubstr(R"("model":"a")")) << name;
    EXPECT_THAT(asked("/v1/messages", R"("max_tokens": 1, )" + messages), HasSubstr(R"("model":"a")")) << name;
    EXPECT_THAT(asked("/api/chat", R"("stream": false, "options": {"num_predict": 1}, )" + messages),
                HasSubstr(R"("model":"a")"))
        << name;
    EXPECT_THAT(asked("/completion", R"("prompt": "abc", "n_predict": 1)"), HasSubstr("200 OK")) << name;
    EXPECT_THAT(asked("/tokenize", R"("prompt": "abc")"), HasSubstr(R"("count":3)")) << name;
    EXPECT_THAT(asked("/api/show", R"("verbose": false)"), HasSubstr("200 OK")) << name;
  }
  EXPECT_THAT(ask(post("/models/unload", R"({"model": ""})")), HasSubstr("HTTP/1.1 400")) << "that one must be named";
}

TEST_F(SeveralModels, OneThatTakesAnyNameIsAskedWhereNoneHasIt) {
  std::vector<ModelEntry> models;
  models.push_back(entry("a", a_));
  models.push_back(entry("b", b_));
  models.front().takes_any_name = true;
  start(std::move(models));
  ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  EXPECT_THAT(ask(completion_of("b")), HasSubstr(R"("model":"b")"));
  for (const std::string name : {"gpt-4o", "claude-haiku-4-5", "org/some:thing"})
    EXPECT_THAT(ask(completion_of(name)), AllOf(HasSubstr("apple"), HasSubstr(R"("model":"a")"))) << name;
  EXPECT_THAT(ask(get("/v1/models/gpt-4o")), HasSubstr(R"("id":"a")"));
  EXPECT_THAT(ask(post("/api/show", R"({"model": "llama3:latest"})")), HasSubstr("200 OK"));
  EXPECT_THAT(ask(get("/v1/models")), ::testing::Not(HasSubstr("gpt-4o")));
  EXPECT_THAT(ask(get("/metrics")), AllOf(HasSubstr(R"(model_name="a")"), ::testing::Not(HasSubstr("gpt-4o"))));
}

TEST_F(SeveralModels, EachRequestIsAnsweredByTheModelThatItNames) {
  start_two();
  EXPECT_THAT(ask(completion_of("b")), AllOf(HasSubstr("berry berry"), HasSubstr(R"("model":"b")")));
  EXPECT_THAT(ask(completion_of("a.gguf")), AllOf(HasSubstr("apple apple"), HasSubstr(R"("model":"a")")));
  EXPECT_THAT(ask(completion(2, false)), HasSubstr("apple")) << "no name means the first";
  EXPECT_THAT(ask(post("/v1/messages", R"({"model": "b", "max_tokens": 1,
                       "messages": [{"role": "user", "content": "x"}]})")),
              HasSubstr("berry"));
  EXPECT_THAT(ask(post("/api/generate", R"({"model": "b:latest", "prompt": "x", "stream": false, "raw": true,
                       "options": {"num_predict": 1}})")),
              HasSubstr("berry"));
  EXPECT_THAT(ask(post("/tokenize", R"({"model": "b", "prompt": "abc"})")), HasSubstr(R"("count":3)"));
  EXPECT_EQ(num_loads_, 2);
}

TEST_F(SeveralModels, AnUnknownOneIsA404ThatNamesThose) {
  start_two();
  for (const char* path : {"/v1/completions", "/tokenize", "/api/show"}) {
    const std::string answer = ask(post(path, R"({"model": "c", "prompt": "x"})"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404")) << path;
    EXPECT_THAT(answer, HasSubstr("model: found 'c', expected one of 'a', 'b'")) << path;
  }
  EXPECT_THAT(ask(get("/v1/models/c")), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(num_loads_, 0);
}

TEST_F(SeveralModels, AreListedWithWhatIsInMemory) {
  start_two();
  json::value list = body_of(get("/v1/models"));
  EXPECT_EQ(list.at("data").at(0).at("status").at("value"), "unloaded");
  EXPECT_EQ(list.at("data").at(1).at("aliases"), json::parse(R"(["b.gguf"])"));
  EXPECT_TRUE(body_of(get("/api/ps")).at("models").as_array().empty());
  EXPECT_THAT(ask(get("/props")), StartsWith("HTTP/1.1 503"));
  ask(completion_of("b"));
  list = body_of(get("/v1/models"));
  EXPECT_EQ(list.at("data").at(0).at("status").at("value"), "unloaded");
  EXPECT_EQ(list.at("data").at(1).at("status").at("value"), "loaded");
  EXPECT_EQ(list.at("data").at(1).at("max_model_len"), 10'000);
  EXPECT_EQ(body_of(get("/v1/models/b.gguf")).at("id"), "b");
  EXPECT_THAT(ask(get("/props")), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(body_of(get("/props?x=1&model=b%2Egguf&y")).at("model_alias"), "b");
  EXPECT_THAT(ask(get("/props?model=c")), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask(get("/props?model=%")), StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(body_of(get("/api/tags")).at("models").as_array().size(), 2U);
  EXPECT_EQ(body_of(get("/api/ps")).at("models").at(0).at("name"), "b");
  const json::value shown = body_of(post("/api/show", R"({"name": "b"})"));
  EXPECT_EQ(shown.at("model_info").at("general.basename"), "Scripted Engine 1");
  EXPECT_THAT(std::string(shown.at("parameters").as_string()), testing::ContainsRegex("^num_ctx +10000$"));
  const std::string metrics = ask(get("/metrics"));
  EXPECT_THAT(metrics, HasSubstr("octavo:model_loads_total{model_name=\"a\"} 0\n"));
  EXPECT_THAT(metrics, HasSubstr("octavo:model_loads_total{model_name=\"b\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("octavo:engine_steps_total{model_name=\"b\"}"));
  EXPECT_THAT(metrics, Not(HasSubstr("octavo:engine_steps_total{model_name=\"a\"}")));
  EXPECT_THAT(metrics, HasSubstr("octavo:model_memory_bytes 60\n"));
}

/// Two that do one thing each, as the heads of their files say.
class ModelsOfTwoKinds : public SeveralModels {
 protected:
  ModelsOfTwoKinds() {
    b_.embedding = {.generates = false, .pooling = Pooling::kMean, .width = 2};
    std::vector<ModelEntry> models;
    models.push_back(entry("chat", a_));
    models.push_back(entry("vectors", b_));
    ModelInfo head;
    head.architecture = "llama";
    head.max_context = 4096;
    head.weight_bytes = 50;
    head.vocab_size = 32'000;
    head.file = {.format = "gguf",
                 .weight_type = "Q4_K_M",
                 .vocabulary = "gpt2",
                 .num_weights = 134'515'008,
                 .weight_bytes = 48,
                 .context_length = 8192,
                 .width = 576};
    models[0].head = head;
    head.file = {};
    head.architecture = "bert";
    head.embedding = b_.embedding;
    models[1].head = head;
    options_.models.memory_bytes = 200;
    start(std::move(models));
  }
};

TEST_F(ModelsOfTwoKinds, AreListedWithWhatTheHeadsOfTheirFilesSayAndNoneIsLoadedForIt) {
  ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  const json::value list = body_of(get("/v1/models")).at("data"), tags = body_of(get("/api/tags")).at("models");
  EXPECT_EQ(list.at(0).at("capabilities"), json::parse(R"(["completion"])"));
  EXPECT_EQ(list.at(1).at("capabilities"), json::parse(R"(["embedding"])"));
  EXPECT_EQ(list.at(1).at("max_model_len"), 4096);
  EXPECT_EQ(list.at(1).at("status").at("value"), "unloaded");
  EXPECT_EQ(body_of(get("/v1/models/vectors")).at("capabilities"), json::parse(R"(["embedding"])"));
  EXPECT_EQ(tags.at(0).at("capabilities"), json::parse(R"(["completion"])"));
  EXPECT_EQ(tags.at(1).at("capabilities"), json::parse(R"(["embedding"])"));
  EXPECT_EQ(tags.at(1).at("details").at("family"), "bert");
  EXPECT_EQ(tags.at(1).at("size"), 50);
  EXPECT_EQ(body_of(get("/info")).at("model_id"), "vectors");
  EXPECT_TRUE(body_of(get("/info?model=chat")).at("model_type").is_null());
  EXPECT_EQ(num_loads_, 0);
  ask(post("/v1/embeddings", R"({"model": "vectors", "input": "x"})"));
  EXPECT_EQ(body_of(get("/v1/models/vectors")).at("max_model_len"), 10'000) << "of the engine, once there is one";
}

TEST_F(ModelsOfTwoKinds, AreToldInTheFieldsThatClientsOfLlamaCppAndOllamaRead) {
  ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  EXPECT_EQ(body_of(get("/v1/models/chat")).at("meta"),
            json::parse(R"({"n_ctx": 4096, "vocab_type": 2, "n_vocab": 32000, "n_ctx_train": 8192, "n_embd": 576,
                            "n_params": 134515008, "size": 48})"));
  EXPECT_EQ(body_of(get("/v1/models/vectors")).at("meta"), json::parse(R"({"n_ctx": 4096, "n_vocab": 32000})"));
  EXPECT_EQ(body_of(get("/v1/models/vectors")).at("context_length"), 4096);
  EXPECT_EQ(body_of(get("/api/tags")).at("models").at(0).at("details"),
            json::parse(R"({"parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"],
                            "parameter_size": "134.52M", "quantization_level": "Q4_K_M"})"));
  EXPECT_EQ(num_loads_, 0);
}

TEST_F(ModelsOfTwoKinds, GetTheRequestsWithoutANameThatTheyAnswer) {
  ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  EXPECT_THAT(ask(post("/v1/embeddings", R"({"input": "x"})")), HasSubstr(R"("model":"vectors")"));
  EXPECT_EQ(num_loads_, 1) << "the first was not asked";
  const std::string compared = R"({"inputs": {"source_sentence": "a", "sentences": ["b"]}})";
  for (const auto& [path, body] : {std::pair<std::string, std::string>{"/embed", R"({"inputs": "x"})"},
                                   {"/embed_all", R"({"inputs": "x"})"},
                                   {"/similarity", compared},
                                   {"/embedding", R"({"content": "x"})"},
                                   {"/api/embed", R"({"input": "x"})"},
                                   {"/v2/embed", R"({"texts": ["x"]})"},
                                   {"/v1/score", R"({"text_1": "a", "text_2": "b"})"}})
    EXPECT_THAT(ask(post(path, body)), StartsWith("HTTP/1.1 200")) << path;
  EXPECT_EQ(num_loads_, 1);
  EXPECT_THAT(ask(completion(2, false)), HasSubstr("apple"));
  EXPECT_THAT(ask(post("/v1/rerank", R"({"query": "a", "documents": ["b"]})")),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("chat has no ranking head")))
      << "none has one";
}

TEST_F(SeveralModels, ThatWriteGetChatsThoughTheFirstIsAnEncoder) {
  a_.embedding = {.generates = false, .pooling = Pooling::kMean, .width = 2};
  std::vector<ModelEntry> models;
  models.push_back(entry("a", a_));
  models.push_back(entry("b", b_));
  models[0].head.emplace().embedding = a_.embedding;
  models[1].head = ModelInfo();
  start(std::move(models));
  ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  EXPECT_THAT(ask(completion(2, false)), HasSubstr("berry"));
  const std::string messages = R"("messages": [{"role": "user", "content": "x"}])";
  EXPECT_THAT(ask(post("/v1/messages", R"({"max_tokens": 1, )" + messages + "}")), HasSubstr(R"("model":"b")"));
  EXPECT_THAT(ask(post("/v1/messages/count_tokens", R"({"max_tokens": 1, )" + messages + "}")),
              StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(num_loads_, 1);
}

TEST_F(SeveralModels, WhileOneIsLoadedTheOtherAnswersAndWhoWaitsGetsItInTheEnd) {
  start_two();
  ask(completion_of("a"));
  load_is_held_ = true;
  TestClient waits(port_);
  waits.send(completion_of("b"));
  ASSERT_TRUE(eventually([this] { return num_loads_ == 2; }));
  EXPECT_THAT(ask(completion_of("a")), HasSubstr("apple"));
  EXPECT_THAT(ask(get("/ready")), StartsWith("HTTP/1.1 200"));
  load_is_held_ = false;
  EXPECT_THAT(waits.read_answer(), HasSubstr("berry"));
}

TEST_F(SeveralModels, TakeTurnsWhereThereIsMemoryForOneAndEveryRequestIsAnswered) {
  options_.models.turn = 20ms;
  start_two(100);
  std::vector<std::future<int>> clients;
  for (int c = 0; c < 8; ++c) {
    clients.push_back(std::async(std::launch::async, [this, c] {
      int num_right = 0;
      for (int i = 0; i < 10; ++i) {
        const bool is_a = (c + i / 3) % 2 == 0;
        const std::string answer = ask(completion_of(is_a ? "a" : "b", 5));
        num_right += answer.contains(is_a ? "apple apple apple apple apple" : "berry berry berry berry berry") ? 1 : 0;
      }
      return num_right;
    }));
  }
  for (auto& client : clients) EXPECT_EQ(client.get(), 10);
  EXPECT_GT(num_loads_, 2);
}

TEST_F(SeveralModels, AClientThatHangsUpWaitsNoMore) {
  start_two(100);
  a_.held = true;
  TestClient uses(port_);
  uses.send(completion_of("a"));
  ASSERT_TRUE(eventually([this] { return a_.num_running == 1; }));
  {
    TestClient waits(port_);
    waits.send(completion_of("b"));
    ASSERT_TRUE(eventually([this] { return metric("octavo:http_connections") == 3; }));  // and the one that asks
    waits.close();
  }
  ASSERT_TRUE(eventually([this] { return metric("octavo:http_connections") == 2; }));
  a_.held = false;
  EXPECT_THAT(uses.read_answer(), HasSubstr("apple"));
  EXPECT_EQ(num_loads_, 1);
}

/// Answers of six megabytes, more than the system's buffers take.
class SlowReaders : public SeveralModels {
 protected:
  static constexpr int kTokens = 60;

  SlowReaders() {
    a_.piece = "apple " + std::string(100'000, 'x');
    a_.held = true;
    options_.http.max_unsent_bytes = 100'000'000;
    options_.models.turn = 1h;  // b gets its memory when nobody uses a
    start_two(100);
  }
  static std::string ask_for(const std::string& path, const std::string& more) {
    return post(path, fmt::format(R"({{"model": "a", "max_tokens": {}, {}}})", kTokens, more));
  }
  static int num_pieces(std::string_view answer) {
    int count = 0;
    for (std::size_t i = answer.find("apple "); i != std::string_view::npos; i = answer.find("apple ", i + 1)) ++count;
    return count;
  }
};

TEST_F(SlowReaders, ByWhomNothingIsReadKeepNoModelAndGetTheirWholeAnswers) {
  const std::string prompt = R"("prompt": "abc")", messages = R"("messages": [{"role": "user", "content": "abc"}])",
                    stream = R"(, "stream": true)";
  const std::string input = R"("input": "abc", "store": false, "max_output_tokens": 60)";
  const std::map<std::string, int> requests = {
      {ask_for("/v1/completions", prompt), 1},
      {ask_for("/v1/completions", prompt + stream), 1},
      {ask_for("/v1/chat/completions", messages + R"(, "logprobs": true)"), 1},
      {ask_for("/v1/chat/completions", messages + stream + R"(, "logprobs": true)"), 1},
      {ask_for("/v1/messages", messages), 1},
      {ask_for("/v1/messages", messages + stream), 1},
      {ask_for("/v1/responses", input), 1},
      {ask_for("/v1/responses", input + stream), 5},  // the deltas, and the text at the end of all that has it
      {ask_for("/api/chat", messages + R"(, "options": {"num_predict": 60})"), 1}};
  for (const auto& [request, num_texts] : requests) {
    a_.held = true;
    TestClient lazy(port_, 4096);
    lazy.send(request);
    ASSERT_TRUE(eventually([this] { return a_.num_running == 1; })) << request;
    a_.held = false;
    ASSERT_TRUE(eventually([this] { return a_.num_running == 0; })) << request;
    EXPECT_THAT(ask(completion_of("b")), HasSubstr("berry")) << request;
    const bool is_whole = !request.contains("stream") && !request.contains("/api/chat");
    const std::string answer = is_whole ? lazy.read_answer() : lazy.read_until("0\r\n\r\n");
    EXPECT_EQ(num_pieces(answer), kTokens * num_texts) << request;
  }
  EXPECT_EQ(num_loads_, 2 * static_cast<int>(requests.size()));
}

TEST_F(SlowReaders, WhoLeaveWithoutReadingKeepNoModel) {
  TestClient lazy(port_, 4096);
  lazy.send(post("/v1/completions", R"({"model": "a", "prompt": "abc", "max_tokens": 9000, "stream": true})"));
  a_.held = false;
  ASSERT_TRUE(eventually([this] { return metric("octavo:engine_steps_total{model_name=\"a\"}") >= kTokens; }));
  a_.held = true;
  lazy.end_sending();  // what was made for it is still being written
  ASSERT_TRUE(eventually([this] { return a_.num_cancelled == 1; }));
  EXPECT_THAT(ask(completion_of("b")), HasSubstr("berry"));
}

TEST_F(SeveralModels, ADrainEndsWaitingWith503) {
  start_two(100);
  a_.held = true;
  TestClient uses(port_), waits(port_);
  uses.send(completion_of("a"));
  ASSERT_TRUE(eventually([this] { return a_.num_running == 1; }));
  waits.send(completion_of("b"));
  ASSERT_TRUE(eventually([this] { return metric("octavo:http_connections") == 3; }));
  server_->drain();
  EXPECT_THAT(waits.read_answer(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("shutting_down")));
  a_.held = false;
  EXPECT_THAT(uses.read_answer(), HasSubstr("apple"));
}

TEST_F(SeveralModels, KeepAliveSaysHowLongAModelStays) {
  options_.models.clients_unload = true;
  start_two();
  const auto generate = [](const std::string& keep_alive) {
    return post("/api/generate",
                R"({"model": "b:latest", "prompt": "x", "stream": false, "raw": true, "keep_alive": )" + keep_alive +
                    R"(, "options": {"num_predict": 1}})");
  };
  ask(generate("-1"));
  EXPECT_EQ(body_of(get("/api/ps")).at("models").at(0).at("expires_at"), "9999-12-31T23:59:59Z");
  EXPECT_THAT(ask(generate(R"("soon")")), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("keep_alive: found")));
  ask(generate(R"("1h")"));
  const json::value running = body_of(get("/api/ps"));
  const auto& expires = running.at("models").at(0).at("expires_at").as_string();
  const auto now = std::chrono::system_clock::now();
  EXPECT_GT(std::string_view(expires), iso_time(now + 50min));
  EXPECT_LE(std::string_view(expires), iso_time(now + 60min));
  EXPECT_THAT(ask(generate("0")), HasSubstr("berry"));
  EXPECT_TRUE(eventually([this] { return body_of(get("/api/ps")).at("models").as_array().empty(); }));
}

TEST_F(SeveralModels, RequestsWithoutAPromptLoadAndUnload) {
  options_.models.clients_unload = true;
  start_two();
  json::value answer = body_of(post("/api/chat", R"({"model": "b", "messages": [], "stream": false})"));
  EXPECT_EQ(answer.at("done_reason"), "load");
  EXPECT_EQ(answer.at("message").at("content"), "");
  EXPECT_EQ(num_loads_, 1);
  answer = body_of(post("/api/generate", R"({"model": "b", "keep_alive": "5m", "stream": false})"));
  EXPECT_EQ(answer.at("done_reason"), "load");
  answer = body_of(post("/api/chat", R"({"model": "b", "keep_alive": 0})"));
  EXPECT_EQ(answer.at("done_reason"), "unload");
  EXPECT_EQ(answer.at("done"), true);
  EXPECT_EQ(answer.at("message"), json::parse(R"({"role": "assistant", "content": ""})"));
  EXPECT_TRUE(eventually([this] { return metric("octavo:model_memory_bytes") == 0; }));
  answer = body_of(post("/api/generate", R"({"model": "b:latest", "prompt": "", "keep_alive": "0s"})"));
  EXPECT_EQ(answer.at("done_reason"), "unload") << "it is not there, and stays so";
  EXPECT_EQ(answer.at("response"), "");
  EXPECT_THAT(ask(post("/api/generate", R"({"model": "c", "keep_alive": 0})")), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(num_loads_, 1);
}

TEST_F(SeveralModels, OnlyARequestForAnAnswerLetsItsModelGo) {
  options_.models.clients_unload = true;
  start_two();
  ask(post("/api/chat", R"({"model": "b", "messages": [], "stream": false})"));
  const json::value shown = body_of(post("/api/show", R"({"model": "b", "keep_alive": 0})"));
  EXPECT_TRUE(shown.as_object().contains("details")) << json::serialize(shown);
  EXPECT_EQ(body_of(get("/api/ps")).at("models").as_array().size(), 1U);
  EXPECT_EQ(num_loads_, 1);
}

TEST_F(SeveralModels, OneKeyTakesNoModelFromAnother) {
  options_.models.clients_unload = true;
  files_.keys = *server::ApiKeys::parse("one one-one-one-one-one\ntwo two-two-two-two-two\n", "keys");
  start_two();
  const auto as = [](const std::string& key) {
    return fmt::format("Authorization: Bearer {0}-{0}-{0}-{0}-{0}\r\n", key);
  };
  const auto use = [&](const std::string& key) {
    return ask(post("/v1/completions", R"({"model": "b", "prompt": "abc", "max_tokens": 1})", as(key)));
  };
  EXPECT_THAT(use("one"), HasSubstr("berry"));
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(use("two"), HasSubstr("berry"));
    EXPECT_THAT(
        ask(post("/models/unload", R"({"model": "b"})", as("two"))),
        AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("the model 'b' stays in memory"), HasSubstr("model_in_use")));
    EXPECT_THAT(ask(post("/api/chat", R"({"model": "b", "keep_alive": 0})", as("two"))),
                AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"("warnings":["the model 'b' stays in memory)")));
    ask(post("/api/generate", R"({"model": "b", "prompt": "x", "raw": true, "stream": false, "keep_alive": 0,
             "options": {"num_predict": 1}})",
             as("two")));
  }
  EXPECT_EQ(num_loads_, 1);
  EXPECT_THAT(ask(post("/models/unload", R"({"model": "b"})", as("one"))),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"({"success":true})")));
  EXPECT_THAT(use("two"), HasSubstr("berry"));
  EXPECT_EQ(num_loads_, 2);
}

TEST_F(SeveralModels, AreLoadedAndUnloadedByLlamaCppsRoutes) {
  options_.models.clients_unload = true;
  start_two();
  const auto status = [this] { return body_of(get("/models")).at("data").at(1).at("status").at("value"); };
  EXPECT_EQ(status(), "unloaded");
  EXPECT_THAT(ask(post("/models/unload", R"({"model": "b"})")),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("the model 'b' is not running")));
  EXPECT_EQ(body_of(post("/models/load", R"({"model": "b.gguf"})")), json::parse(R"({"success": true})"));
  EXPECT_TRUE(eventually([&] { return status() == "loaded"; }));
  EXPECT_THAT(ask(post("/models/load", R"({"model": "b"})")),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("the model 'b' is already running")));
  EXPECT_EQ(body_of(post("/models/unload", R"({"model": "b"})")), json::parse(R"({"success": true})"));
  EXPECT_TRUE(eventually([&] { return status() == "unloaded"; }));
  EXPECT_EQ(num_loads_, 1);
  for (const char* path : {"/models/load", "/models/unload"}) {
    EXPECT_THAT(ask(post(path, R"({"model": "c"})")), StartsWith("HTTP/1.1 404")) << path;
    EXPECT_THAT(ask(post(path, "{}")), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("model: found none"))) << path;
    EXPECT_THAT(ask(post(path, "[]")), StartsWith("HTTP/1.1 400")) << path;
    EXPECT_THAT(ask(post(path, std::string(70000, ' '))), StartsWith("HTTP/1.1 413")) << path;
    EXPECT_THAT(ask(get(path)), StartsWith("HTTP/1.1 405")) << path;
  }
}

TEST_F(SeveralModels, OneThatCannotBeLoadedIsListedAsFailed) {
  std::vector<ModelEntry> models;
  models.push_back(entry("a", a_));
  models.push_back({.names = {"b"}, .load = [](const std::stop_token&) -> Result<std::unique_ptr<Engine>> {
                      return fail("no wheels");
                    }});
  start(std::move(models));
  ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  EXPECT_EQ(body_of(post("/models/load", R"({"model": "b"})")), json::parse(R"({"success": true})"));
  const auto status = [this] { return body_of(get("/models")).at("data").at(1).at("status"); };
  EXPECT_TRUE(eventually([&] { return status().as_object().contains("failed"); }));
  EXPECT_EQ(status(), json::parse(R"({"value": "unloaded", "args": [], "failed": true, "error": "no wheels"})"));
}

TEST_F(SeveralModels, AnEngineThatFailsEndsTheServerWithItsError) {
  start_two();
  ask(completion_of("a"));
  b_.breaks = true;
  EXPECT_THAT(ask(completion_of("b")), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("engine_failed")));
  const Result<void> result = stop();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("a wheel is off"));
}

TEST_F(SeveralModels, AClientThatWantsAModelLongerThanTheOperatorKeepsItIsTold) {
  options_.models.idle_unload = 60s;
  options_.models.clients_unload = true;
  start_two();
  const auto warnings = [this](const std::string& keep_alive) {
    const std::string body = R"({"model": "a", "prompt": "x", "stream": false, "raw": true, "keep_alive": )";
    const json::value answer =
        body_of(post("/api/generate", body + keep_alive + R"(, "options": {"num_predict": 1}})"));
    const json::value* found = answer.as_object().if_contains("warnings");
    return found == nullptr ? "" : json::serialize(*found);
  };
  EXPECT_EQ(warnings("-1"),
            R"(["keep_alive: found for ever, cut to 60 s: this server keeps no model longer that nobody uses"])");
  EXPECT_THAT(warnings("\"5m\""), HasSubstr("keep_alive: found 300 s, cut to 60 s"));
  EXPECT_EQ(warnings("30"), "");
}

TEST_F(SeveralModels, AnIdleModelIsLoadedAgainWhenItIsAskedFor) {
  options_.models.idle_unload = 1ms;
  start_two();
  EXPECT_THAT(ask(completion_of("a")), HasSubstr("apple"));
  ASSERT_TRUE(eventually([this] { return metric("octavo:model_memory_bytes") == 0; }));
  EXPECT_THAT(ask(completion_of("a")), HasSubstr("apple"));
  EXPECT_EQ(num_loads_, 2);
}

}  // namespace
}  // namespace octavo::test
