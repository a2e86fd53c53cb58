// Models that clients have fetched by ollama's /api/pull, from a hub that is a function.
#include <gmock/gmock.h>

#include <list>

#include "server/test_client.h"
#include "support/temp_file.h"

namespace octavo::test {
namespace {

using server::FetchCall;
using server::ModelEntry;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string digest_of(const std::string& name) { return "sha256:" + std::string(64, name == "org/repo" ? 'a' : 'b'); }
constexpr std::uint64_t kBytes = 1000;  // of each model

/// Fetches half of a model, waits while it is held, then fetches the other half.
struct FakeHub {
  Result<bool> fetch(const FetchCall& call) {
    ++num_fetches;
    OCTAVO_TRY_VOID(call.admit(kBytes));
    for (std::uint64_t done = 0; done <= kBytes / 2; ++done) tell(call, done);
    while (held && !call.stop.stop_requested()) std::this_thread::sleep_for(1ms);
    while (stops_late && call.stop.stop_requested()) std::this_thread::sleep_for(1ms);
    if (call.stop.stop_requested()) {
      ++num_stopped;
      return std::unexpected(Error{"fetching was stopped"});
    }
    tell(call, kBytes);
    if (has_other_hash) {  // and is fetched anew
      tell(call, 0);
      tell(call, kBytes);
    }
    if (call.stop.stop_requested()) return std::unexpected(Error{"fetching was stopped"});
    if (breaks) throw std::runtime_error("a wheel is off");
    if (fails) return std::unexpected(Error{"the hub has no such model"});
    return !is_there.exchange(true);
  }
  static void tell(const FetchCall& call, std::uint64_t done) {
    call.on_progress({.digest = digest_of(call.name), .completed_bytes = done, .total_bytes = kBytes});
  }

  std::atomic<int> num_fetches = 0, num_stopped = 0;
  std::atomic<bool> held = false, stops_late = false, fails = false, breaks = false, has_other_hash = false,
                    is_there = false;
};

std::string pull_of(const std::string& name, const std::string& more = "", const std::string& headers = "") {
  return post("/api/pull", fmt::format(R"({{"model": "{}"{}}})", name, more), headers);
}
std::string whole_pull_of(const std::string& name) { return pull_of(name, R"(, "stream": false)"); }

class Pulls : public ServerTest {
 protected:
  Pulls() {
    options_.pull.fetch = [this](const FetchCall& call) { return hub_.fetch(call); };
    options_.pull.check_name = [](std::string_view name) -> Result<void> {
      if (name.contains('/')) return {};
      return std::unexpected(Error{"found no slash, expected ORG/REPO"});
    };
  }
  ~Pulls() override {
    hub_.held = hub_.stops_late = false;
    stop();
  }
  ModelEntry entry(const std::string& name) {
    return {.names = {name}, .load = [this](const std::stop_token&) -> Result<std::unique_ptr<Engine>> {
              return std::make_unique<ScriptedEngine>(script_);
            }};
  }
  std::vector<ModelEntry> entries() {
    std::vector<ModelEntry> list;
    list.push_back(entry("a"));
    if (hub_.is_there && !is_broken_) list.push_back(entry("org/repo"));
    return list;
  }
  /// A server of several models.
  void start_several() {
    options_.read_models = [this](const std::stop_token&) -> Result<std::vector<ModelEntry>> {
      if (reading_breaks_) throw std::runtime_error("Too many levels of symbolic links");
      return entries();
    };
    start(entries());
    ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  }
  std::string metrics() { return ask(get("/metrics")); }

  FakeHub hub_;
  bool is_broken_ = false, reading_breaks_ = false;
};

TEST_F(Pulls, AStreamTellsHowFarItIsAsOllamaDoes) {
  hub_.held = true;
  start_several();
  TestClient client(port_);
  client.send(pull_of("org/repo:latest"));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, AllOf(HasSubstr("200 OK"), HasSubstr("application/x-ndjson")));
  EXPECT_THAT(client.read_until("}\n"), HasSubstr(R"({"status":"pulling manifest"})"));
  const std::string half = client.read_until(R"("completed":500})");
  EXPECT_THAT(
      half, HasSubstr(R"({"status":"pulling aaaaaaaaaaaa","digest":")" + digest_of("org/repo") + R"(","total":1000,)"));
  hub_.held = false;
  const std::string rest = client.read_until("0\r\n\r\n");
  const std::size_t verified = rest.find(R"({"status":"verifying sha256 digest"})");
  const std::size_t written = rest.find(R"({"status":"writing manifest"})");
  EXPECT_LT(verified, written);
  EXPECT_LT(written, rest.find(R"({"status":"success"})"));
}

TEST_F(Pulls, WithoutAStreamTheAnswerIsTheLastLine) {
  start_several();
  EXPECT_THAT(ask(whole_pull_of("org/repo")), AllOf(HasSubstr("200 OK"), EndsWith("\r\n\r\n{\"status\":\"success\"}")));
  hub_.fails = true;
  EXPECT_THAT(ask(whole_pull_of("org/repo")),
              AllOf(StartsWith("HTTP/1.1 502"), EndsWith(R"({"error":"the hub has no such model"})")));
  TestClient client(port_);
  client.send(pull_of("org/repo"));
  EXPECT_THAT(
      client.read_until("0\r\n\r\n"),
      AllOf(HasSubstr("200 OK"), HasSubstr(R"({"error":"the hub has no such model"})"), Not(HasSubstr("success"))));
}

TEST_F(Pulls, AServerOfSeveralModelsServesItAtOnce) {
  start_several();
  EXPECT_THAT(ask(get("/api/tags")), Not(HasSubstr("org/repo")));
  EXPECT_THAT(ask(whole_pull_of("org/repo")), EndsWith(R"({"status":"success"})"));
  EXPECT_THAT(ask(get("/api/tags")), HasSubstr(R"("name":"org/repo")"));
  EXPECT_THAT(ask(post("/v1/completions", R"({"model": "org/repo", "prompt": "abc", "max_tokens": 1})")),
              HasSubstr(R"("model":"org/repo")"));
}

TEST_F(Pulls, AModelThatIsFetchedAndNotServedIsAWarning) {
  is_broken_ = true;
  start_several();
  for (int i = 0; i < 2; ++i)  // the second time nothing is new
    EXPECT_THAT(ask(whole_pull_of("org/repo")),
                AllOf(HasSubstr(R"({"status":"success","warnings":["the model 'org/repo' is fetched, and not served)"),
                      HasSubstr("the server's messages")));
}

TEST_F(Pulls, AnExceptionOfTheThreadThatFetchesIsThePullsError) {
  start_several();
  hub_.breaks = true;
  EXPECT_THAT(ask(whole_pull_of("org/repo")),
              AllOf(StartsWith("HTTP/1.1 502"), EndsWith(R"({"error":"a wheel is off"})")));
  hub_.breaks = false;
  EXPECT_THAT(ask(whole_pull_of("org/repo")), EndsWith(R"({"status":"success"})"));
}

TEST_F(Pulls, AnExceptionOfTheThreadThatReadsModelsIsANoticeAndTheNextReadingIsAsAnyOther) {
  std::mutex mutex;
  std::string notices;
  options_.on_notice = [&](const std::string& notice) {
    const std::lock_guard lock(mutex);
    notices += notice + '\n';
  };
  reading_breaks_ = true;
  start_several();
  EXPECT_THAT(ask(whole_pull_of("org/repo")),
              AllOf(HasSubstr("and not served: Too many levels of symbolic links"), HasSubstr("success")));
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(notices, "Too many levels of symbolic links\n");
  }
  reading_breaks_ = false;
  hub_.is_there = false;
  EXPECT_THAT(ask(whole_pull_of("org/repo")), EndsWith(R"({"status":"success"})"));
  EXPECT_THAT(ask(get("/api/tags")), HasSubstr(R"("name":"org/repo")"));
  stop();  // before what on_notice writes to is gone
}

TEST_F(Pulls, AServerOfOneModelSaysWhatToStartItWith) {
  start_ready();
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(ask(whole_pull_of("org/repo")),
                AllOf(HasSubstr("200 OK"), HasSubstr(R"("warnings":["the model 'org/repo' is fetched, and not served)"),
                      HasSubstr("-m org/repo")));
}

TEST_F(Pulls, ItEndsWhenTheLastOfItsReadersHasLeft) {
  hub_.held = true;
  start_several();
  TestClient first(port_), second(port_);
  first.send(pull_of("org/repo"));
  first.read_until("\"completed\":500}");
  second.send(pull_of("org/repo"));
  second.read_until("\"completed\":500}");
  EXPECT_EQ(hub_.num_fetches, 1) << "the second is told of the same";
  first.close();
  const std::string gone = R"(octavo:http_requests_total{route="/api/pull",status="499"} )";
  EXPECT_TRUE(eventually([&] { return metrics().contains(gone + "1"); }));
  EXPECT_EQ(hub_.num_stopped, 0);
  second.close();
  EXPECT_TRUE(eventually([&] { return hub_.num_stopped == 1; }));
  EXPECT_TRUE(eventually([&] { return metrics().contains(R"(octavo:model_pulls_total{outcome="stopped"} 1)"); }));
}

TEST_F(Pulls, OneWhoWaitsForTheWholeAnswerKeepsItAndLetsItGo) {
  hub_.held = true;
  start_several();
  TestClient client(port_);
  client.send(whole_pull_of("org/repo"));
  EXPECT_TRUE(eventually([&] { return hub_.num_fetches == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return hub_.num_stopped == 1; }));
}

TEST_F(Pulls, WhoeverAsksWhileItStopsGetsItAllTheSame) {
  hub_.held = hub_.stops_late = true;
  start_several();
  TestClient first(port_);
  first.send(pull_of("org/other"));
  first.read_until("\"completed\":500}");
  first.close();
  EXPECT_TRUE(eventually([&] { return metrics().contains(R"(route="/api/pull",status="499"} 1)"); }));
  TestClient second(port_);
  second.send(pull_of("org/repo"));
  second.read_until("manifest");
  std::this_thread::sleep_for(250ms);  // in which it could be told of the first one's
  hub_.held = hub_.stops_late = false;
  EXPECT_THAT(second.read_until("0\r\n\r\n"), AllOf(HasSubstr(R"({"status":"success"})"), Not(HasSubstr("bbbb"))));
  EXPECT_EQ(hub_.num_fetches, 2);
  EXPECT_EQ(hub_.num_stopped, 1);
}

TEST_F(Pulls, AnotherModelIsToldToComeAgain) {
  hub_.held = true;
  start_several();
  TestClient client(port_);
  client.send(pull_of("org/repo"));
  client.read_until("\"completed\":500}");
  EXPECT_THAT(ask(pull_of("org/other")),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1"), HasSubstr("one at a time")));
  hub_.held = false;
  client.read_until("success");
  EXPECT_THAT(ask(whole_pull_of("org/other")), HasSubstr("success"));
  EXPECT_EQ(hub_.num_fetches, 2);
}

TEST_F(Pulls, ReadersOfOneAreBounded) {
  hub_.held = true;
  start_several();
  std::list<TestClient> clients;
  for (std::size_t i = 0; i < server::ModelPuller::kMostReaders; ++i) {
    clients.emplace_back(port_).send(pull_of("org/repo"));
    clients.back().read_until("manifest");
  }
  EXPECT_THAT(ask(pull_of("org/repo")), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("32 clients wait")));
  clients.pop_front();
  EXPECT_TRUE(eventually([&] { return metrics().contains(R"(route="/api/pull",status="499"} 1)"); }));
  clients.emplace_back(port_).send(pull_of("org/repo"));
  EXPECT_THAT(clients.back().read_until("}\n"), HasSubstr("200 OK"));
}

TEST_F(Pulls, ProgressThatNobodyReadIsDropped) {
  hub_.held = true;
  start_several();
  TestClient client(port_);
  client.send(pull_of("org/repo"));
  client.read_until("\"completed\":500}");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(ask(get("/health")), HasSubstr("200 OK"));
  hub_.held = false;
  client.read_until("0\r\n\r\n");
  TestClient again(port_);
  again.send(pull_of("org/repo"));
  const std::string all = again.read_until("0\r\n\r\n");
  EXPECT_LT(std::ranges::count(all, '\n'), 100) << "it was told more than 500 times";
}

TEST_F(Pulls, WhatTheyWriteIsBounded) {
  options_.pull.max_bytes = kBytes + kBytes / 2;
  start_several();
  EXPECT_THAT(ask(whole_pull_of("org/repo")), HasSubstr("success"));
  EXPECT_EQ(metric("octavo:model_pulled_bytes_total"), kBytes);
  EXPECT_THAT(ask(whole_pull_of("org/other")),
              AllOf(StartsWith("HTTP/1.1 507"), HasSubstr("found 1000 bytes to fetch, expected at most 500"),
                    HasSubstr("left of the 1500")));
  EXPECT_EQ(metric("octavo:model_pulled_bytes_total"), kBytes) << "nothing came of it";
}

TEST_F(Pulls, MoreThanWasToComeIsStopped) {
  options_.pull.max_bytes = kBytes + kBytes / 2;
  hub_.has_other_hash = true;
  start_several();
  EXPECT_THAT(ask(whole_pull_of("org/repo")), AllOf(StartsWith("HTTP/1.1 507"), HasSubstr("of the 1500")));
}

TEST_F(Pulls, WrongBodiesAreRefusedBeforeAnythingIsFetched) {
  start_several();
  const auto error_of = [&](const std::string& body) { return ask(post("/api/pull", body)); };
  EXPECT_THAT(error_of("{}"), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("model: found none")));
  EXPECT_THAT(error_of(R"({"model": 3})"), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("model")));
  EXPECT_THAT(error_of(R"({"name": "llama3"})"), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("model: found no slash")));
  EXPECT_THAT(error_of(R"({"model": "a/b", "stream": "yes"})"), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("stream")));
  EXPECT_THAT(error_of(R"({"model": "a/b", "insecure": true})"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("insecure")));
  EXPECT_THAT(error_of("[]"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(error_of(R"({"model": ")" + std::string(70000, 'a') + "/b\"}"), StartsWith("HTTP/1.1 413"));
  EXPECT_EQ(hub_.num_fetches, 0);
  EXPECT_THAT(error_of(R"({"name": "org/repo", "insecure": false, "stream": false})"), HasSubstr("success"));
}

TEST_F(Pulls, OnlyTheKeysThatAreNamedMay) {
  auto keys = server::ApiKeys::parse("puller 0123456789abcdefg\nother 0123456789abcdefh\n", "keys");
  ASSERT_TRUE(keys) << keys.error().message;
  files_.keys = *keys;
  options_.pull.keys = {"puller"};
  start_several();
  const auto asked_by = [&](const std::string& key) {
    return ask(pull_of("org/repo", R"(, "stream": false)", "Authorization: Bearer " + key + "\r\n"));
  };
  EXPECT_THAT(asked_by("0123456789abcdefh"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("the key 'other'"), HasSubstr("--allow-pull-keys")));
  EXPECT_THAT(asked_by("none of them at all"), StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(hub_.num_fetches, 0);
  EXPECT_THAT(asked_by("0123456789abcdefg"), HasSubstr("success"));
}

TEST_F(Pulls, AReaderWhoseKeyIsRevokedIsEndedAndSoIsWhatItWantedAlone) {
  const TempFile file("puller 0123456789abcdefg\n", ".keys");
  files_.key_watch = server::KeyWatch::open(file.path(), 5ms).value();
  files_.keys = files_.key_watch->first_keys();
  options_.pull.keys = {"*"};
  hub_.held = true;
  start_several();
  TestClient client(port_);
  client.send(pull_of("org/repo", "", "Authorization: Bearer 0123456789abcdefg\r\n"));
  client.read_until("\"completed\":500}");
  file.write("other 0123456789abcdefh\n");
  EXPECT_THAT(client.read_until("0\r\n\r\n"),
              HasSubstr(R"({"error":"the API key of this request is no longer valid"})"));
  EXPECT_TRUE(eventually([&] { return hub_.num_stopped == 1; }));
}

TEST_F(Pulls, ADrainStopsThemAndSaysSo) {
  hub_.held = true;
  start_several();
  TestClient client(port_);
  client.send(pull_of("org/repo"));
  client.read_until("\"completed\":500}");
  server_->drain();
  EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr(R"({"error":"the server is shutting down"})"));
  EXPECT_TRUE(result_.get());
  EXPECT_TRUE(eventually([&] { return hub_.num_stopped == 1; }));
}

TEST_F(Pulls, WithoutTheOptionTheAnswerSaysHowToGetIt) {
  options_.pull = {};
  start_ready();
  EXPECT_THAT(ask(pull_of("org/repo")), AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("start it with --allow-pull"),
                                              HasSubstr("`octavo pull NAME`")));
}

TEST_F(Pulls, OtherChangesOfModelsSayWhatToTypeInstead) {
  start_ready();
  const auto changed = [&](const std::string& path) { return ask(post(path, R"({"model": "a"})")); };
  EXPECT_THAT(changed("/api/copy"), AllOf(StartsWith("HTTP/1.1 403"), HasSubstr(R"({"error":)"), HasSubstr("alias")));
  EXPECT_THAT(changed("/api/create"), AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("octavo quantize")));
  EXPECT_THAT(changed("/api/push"), AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("hf upload")));
  EXPECT_THAT(ask("DELETE /api/delete HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\n\r\n{\"model\": \"a\"}"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("octavo rm NAME")));
  EXPECT_THAT(changed("/api/delete"), AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: DELETE")));
}

}  // namespace
}  // namespace octavo::test
