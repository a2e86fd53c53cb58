// API keys: what a file of them may hold, who may see it, and that a change of it counts.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "server/api_keys.h"
#include "server/key_file.h"
#include "server/key_watch.h"
#include "server/test_client.h"
#include "support/temp_file.h"

namespace octavo::test {
namespace {

using namespace server;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kOne = "one-one-one-one-one";
constexpr const char* kTwo = "two-two-two-two-two";

/// A file of keys that only its owner sees.
TempFile key_file(const std::string& text) { return TempFile(text, ".keys"); }

std::string bearer(const std::string& key) { return "Bearer " + key; }

std::string error_of(const std::string& text) {
  const auto keys = ApiKeys::parse(text, "f");
  return keys ? "" : keys.error().message;
}

TEST(ApiKeys, OfAnArgumentStandBetweenCommasAndMayBeShort) {
  const auto keys = ApiKeys::of_list("a, sk-two ,,a", "--api-key");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->size(), 2U);
  EXPECT_NE(keys->find("Bearer a"), nullptr);
  EXPECT_NE(keys->find("Bearer sk-two"), nullptr);
  EXPECT_EQ(keys->find("Bearer a, sk-two"), nullptr);
  EXPECT_THAT(ApiKeys::of_list(" , ", "--api-key").error().message, HasSubstr("--api-key: found no key"));
  EXPECT_THAT(ApiKeys::of_list("a\tb", "--api-key").error().message, HasSubstr("that no key has"));
}

TEST(ApiKeys, SkipCommentsAndEmptyLines) {
  const auto keys = ApiKeys::parse("# comment comment comment\n\n  one-one-one-one-one \r\ntwo-two-two-two-two", "f");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->size(), 2U);
  EXPECT_NE(keys->find("Bearer one-one-one-one-one"), nullptr);
  EXPECT_NE(keys->find("bearer  two-two-two-two-two "), nullptr);
  for (const char* wrong :
       {"Bearer three-three-three", "one-one-one-one-one", "", "Bearer", "Bearer ", "Bearer # comment comment comment",
        "Bearer one-one-one-one-on", "Basic one-one-one-one-one"})
    EXPECT_EQ(keys->find(wrong), nullptr) << wrong;
  EXPECT_EQ(keys->find("Bearer " + std::string(100'000, 'x')), nullptr);
}

TEST(ApiKeys, ALineMayNameItsKey) {
  const auto keys = ApiKeys::parse(fmt::format("alice {}\nalice\t{}\nnameless-nameless\n", kOne, kTwo), "f");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->find(bearer(kOne))->name, "alice");
  EXPECT_EQ(keys->find(bearer(kTwo))->name, "alice");
  EXPECT_NE(keys->find(bearer(kOne))->digest, keys->find(bearer(kTwo))->digest);
  EXPECT_THAT(keys->find("Bearer nameless-nameless")->name, MatchesRegex("key-[0-9a-f]{16}"));
}

TEST(ApiKeys, ANameThatIsMadeFromAKeyCannotBeGuessedBack) {
  const std::string text = std::string(kOne) + "\n";
  const KeySalt salt = random_salt();
  const auto name = [&](const Result<ApiKeys>& keys) { return keys->find(bearer(kOne))->name; };
  EXPECT_EQ(name(ApiKeys::parse(text, "f", salt)), name(ApiKeys::parse("# more\n" + text, "f", salt)));
  // A guessed key has no name to be compared with: another process gives it another.
  EXPECT_NE(name(ApiKeys::parse(text, "f")), name(ApiKeys::parse(text, "f")));
  EXPECT_NE(random_salt(), random_salt());
}

TEST(ApiKeys, AFileWithoutAKeyOrWithABrokenOneIsRefused) {
  EXPECT_THAT(error_of("# nothing\n"), HasSubstr("f: found no key"));
  EXPECT_THAT(error_of("ok-ok-ok-ok-ok-ok\nalice b c-c-c-c-c-c-c-c-c\n"), HasSubstr("f:2: found a character"));
  EXPECT_THAT(error_of("caf\xC3\xA9-caf\xC3\xA9-caf\xC3\xA9\n"), HasSubstr("f:1: found a character"));
  EXPECT_THAT(error_of(fmt::format("{}\n\nbob {}\n", kOne, kOne)), HasSubstr("f:3: found a key that stands"));
  EXPECT_THAT(error_of(std::string(33, 'n') + " " + kOne), HasSubstr("f:1: found a name of 33 characters"));
  EXPECT_THAT(error_of("a/b " + std::string(kOne)), HasSubstr("f:1: found a name of 3 characters"));
}

TEST(ApiKeys, AKeyThatIsTooShortOrTooLongIsRefusedAndNotShown) {
  const std::string error = error_of("long-enough-to-be-a-key\nalice hunter2\n");
  EXPECT_THAT(error,
              AllOf(HasSubstr("f:2: found a key of 7 characters, expected 16 to 512"), Not(HasSubstr("hunter2"))));
  EXPECT_EQ(error_of(std::string(16, 'k')), "");
  EXPECT_EQ(error_of(std::string(512, 'k')), "");
  EXPECT_THAT(error_of(std::string(15, 'k')), HasSubstr("found a key of 15 characters"));
  EXPECT_THAT(error_of(std::string(513, 'k')), HasSubstr("found a key of 513 characters"));
}

TEST(KeyFile, RightsOfOthersAreRefusedWithWhatWasFound) {
  const TempFile file = key_file(std::string(kOne) + "\n");
  for (const unsigned mode : {0600U, 0400U, 0440U, 0640U}) {
    ASSERT_EQ(::chmod(file.path().c_str(), mode), 0);
    EXPECT_TRUE(ApiKeys::read(file.path())) << mode;
  }
  for (const unsigned mode : {0644U, 0604U, 0602U, 0601U, 0660U, 0620U, 0666U}) {
    ASSERT_EQ(::chmod(file.path().c_str(), mode), 0);
    const auto keys = ApiKeys::read(file.path());
    ASSERT_FALSE(keys) << mode;
    EXPECT_THAT(keys.error().message, AllOf(HasSubstr(file.string()), HasSubstr(fmt::format("the rights {:04o}", mode)),
                                            HasSubstr("expected 0600, 0640 or fewer")));
  }
}

TEST(KeyFile, WhatIsNoFileOfKeysIsRefused) {
  EXPECT_THAT(ApiKeys::read("/nowhere/keys").error().message, HasSubstr("/nowhere/keys: cannot open"));
  EXPECT_THAT(ApiKeys::read("/").error().message, HasSubstr("expected a regular file"));
  const auto pipe = std::filesystem::temp_directory_path() / fmt::format("octavo-test-pipe-{}", ::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ApiKeys::read(pipe).error().message, HasSubstr("expected a regular file"));
  std::filesystem::remove(pipe);
  const TempFile large = key_file(std::string((1U << 20) + 1, '#'));
  EXPECT_THAT(ApiKeys::read(large.path()).error().message, HasSubstr("at most 1048576"));
}

/// The news of a watch once it has any, or none after five seconds.
KeyWatch::News next_news(KeyWatch& watch) {
  KeyWatch::News news;
  eventually([&] {
    news = watch.take();
    return news.keys || !news.notice.empty();
  });
  return news;
}

/// The watch says so, perhaps after what it says of a file that is half written, and has no other keys.
bool is_told(KeyWatch& watch, const std::string& text) {
  for (;;) {
    const KeyWatch::News news = next_news(watch);
    if (news.keys || news.notice.empty()) return false;
    if (news.notice.find(text) != std::string::npos) return true;
  }
}

TEST(KeyWatch, AChangedFileIsReadAgainWithTheSameNames) {
  const TempFile file = key_file(std::string(kOne) + "\n");
  auto watch = KeyWatch::open(file.path(), 5ms).value();
  const std::string name = watch->first_keys().find(bearer(kOne))->name;
  file.write(fmt::format("{}\n{}\n", kTwo, kOne));
  KeyWatch::News news = next_news(*watch);
  for (int looks = 0; looks < 100 && (!news.keys || news.keys->size() < 2); ++looks)
    news = next_news(*watch);  // the file was seen half written
  ASSERT_TRUE(news.keys);
  EXPECT_EQ(news.keys->find(bearer(kOne))->name, name);
  EXPECT_NE(news.keys->find(bearer(kTwo)), nullptr);
  EXPECT_THAT(news.notice, AllOf(HasSubstr(file.string()), HasSubstr("2 keys")));
  EXPECT_FALSE(watch->take().keys);
}

TEST(KeyWatch, AFileThatIsReplacedCountsAlthoughItsSizeAndTimeAreTheSame) {
  const TempFile file = key_file(std::string(kOne) + "\n");
  auto watch = KeyWatch::open(file.path(), 5ms).value();
  const TempFile other = key_file(std::string(kTwo) + "\n");
  std::filesystem::last_write_time(other.path(), std::filesystem::last_write_time(file.path()));
  std::filesystem::rename(other.path(), file.path());
  const KeyWatch::News news = next_news(*watch);
  ASSERT_TRUE(news.keys);
  EXPECT_EQ(news.keys->find(bearer(kOne)), nullptr);
  EXPECT_NE(news.keys->find(bearer(kTwo)), nullptr);
}

TEST(KeyWatch, ABrokenFileChangesNothingAndIsComplainedOfOnce) {
  const TempFile file = key_file(std::string(kOne) + "\n");
  auto watch = KeyWatch::open(file.path(), 5ms).value();
  ASSERT_EQ(::chmod(file.path().c_str(), 0644), 0);
  const KeyWatch::News news = next_news(*watch);
  EXPECT_FALSE(news.keys);
  EXPECT_THAT(news.notice, AllOf(HasSubstr("0644"), HasSubstr("the keys from before stay valid")));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(watch->take().notice, "");
  std::filesystem::remove(file.path());
  EXPECT_THAT(next_news(*watch).notice, HasSubstr("cannot open"));
  file.write("short\n");
  ASSERT_EQ(::chmod(file.path().c_str(), 0600), 0);
  EXPECT_TRUE(is_told(*watch, "found a key of 5 characters"));
  file.write(std::string(kOne) + "\n");
  EXPECT_TRUE(is_told(*watch, "can be read again"));
}

class Keys : public ServerTest {
 protected:
  ~Keys() override { stop(); }  // before what on_notice writes to is gone

  void start_watching(int interval_ms = 5) {
    files_.key_watch = KeyWatch::open(file_.path(), std::chrono::milliseconds(interval_ms)).value();
    files_.keys = files_.key_watch->first_keys();
    options_.on_notice = [this](const std::string& notice) {
      const std::lock_guard lock(mutex_);
      notices_ += notice + "\n";
    };
    start_ready();
  }
  std::string with_key(const char* key) { return fmt::format("Authorization: Bearer {}\r\n", key); }
  std::string completion(const char* key, bool stream) {
    return post("/v1/completions", fmt::format(R"({{"prompt": "abc", "max_tokens": 9000, "stream": {}}})", stream),
                with_key(key));
  }
  std::string notices() {
    const std::lock_guard lock(mutex_);
    return notices_;
  }

  const TempFile file_{fmt::format("{}\n{}\n", kOne, kTwo), ".keys"};
  std::mutex mutex_;
  std::string notices_;
};

TEST_F(Keys, ARevokedKeyIsRefusedAndANewOneLetIn) {
  start_watching();
  EXPECT_THAT(ask(get("/v1/models", with_key(kOne))), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(get("/v1/models", with_key("new-new-new-new-new"))), StartsWith("HTTP/1.1 401"));
  file_.write(fmt::format("{}\nnew-new-new-new-new\n", kTwo));
  EXPECT_TRUE(eventually([&] { return ask(get("/v1/models", with_key(kOne))).starts_with("HTTP/1.1 401"); }));
  EXPECT_TRUE(
      eventually([&] { return ask(get("/v1/models", with_key("new-new-new-new-new"))).starts_with("HTTP/1.1 200"); }));
  EXPECT_THAT(ask(get("/v1/models", with_key(kTwo))), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(notices(), HasSubstr("2 keys are valid"));
}

TEST_F(Keys, WhatRunsForARevokedKeyEndsWithAnErrorAndForTheOthersGoesOn) {
  script_.held = true;
  start_watching();
  TestClient streamed(port_), whole(port_), other(port_);
  streamed.send(completion(kOne, true));
  whole.send(completion(kOne, false));
  other.send(completion(kTwo, true));
  ASSERT_TRUE(eventually([this] { return script_.num_running == 3; }));
  file_.write(fmt::format("{}\n", kTwo));
  const std::string events = streamed.read_until("0\r\n\r\n");
  EXPECT_THAT(events, AllOf(HasSubstr("invalid_api_key"), Not(HasSubstr("[DONE]")), Not(HasSubstr("cancelled"))));
  EXPECT_THAT(whole.read_answer(), AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("no longer valid")));
  EXPECT_EQ(script_.num_running, 1);
  EXPECT_EQ(script_.num_cancelled, 2);
  other.close();
}

TEST_F(Keys, AKeyThatIsRevokedWhileTheBodyComesIsRefused) {
  start_watching();
  TestClient client(port_);
  client.send(
      fmt::format("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                  "Content-Length: 32\r\nExpect: 100-continue\r\n{}\r\n",
                  with_key(kOne)));
  ASSERT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  file_.write(fmt::format("{}\n", kTwo));
  ASSERT_TRUE(eventually([&] { return ask(get("/v1/models", with_key(kOne))).starts_with("HTTP/1.1 401"); }));
  client.send(R"({"prompt": "a", "max_tokens": 2})");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(script_.num_submitted, 0);
}

TEST_F(Keys, KeysOfOneNameAreOneTenantAndLogsHaveTheName) {
  file_.write(fmt::format("alice {}\nalice {}\n", kOne, kTwo));
  start_watching();
  for (const char* key : {kOne, kTwo})
    ask(post("/v1/completions", R"({"prompt": "a", "max_tokens": 1})", with_key(key)));
  const std::lock_guard lock(script_.mutex);
  ASSERT_EQ(script_.requests.size(), 2U);
  EXPECT_EQ(script_.requests[0].cache_domain, script_.requests[1].cache_domain);
  EXPECT_THAT(script_.requests[0].cache_domain, HasSubstr("alice"));
}

}  // namespace
}  // namespace octavo::test
