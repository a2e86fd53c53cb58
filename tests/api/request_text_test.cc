// An engine as the reading of one request has it: what is read is counted, and ends.
#include "api/request_text.h"

#include <gmock/gmock.h>

#include "api/fake_text.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;

TEST(RequestText, ATextCountsEachTimeThatItIsRead) {
  const FakeText words;
  const RequestText own(words, {}, 100);
  ASSERT_TRUE(own.tokenize("abc", {}));
  ASSERT_TRUE(own.tokenize("abc", {}));
  ASSERT_TRUE(own.embedding_prompt("abcd", {}));
  ASSERT_TRUE(own.rank_prompt("ab", "c", {}));
  EXPECT_EQ(own.work().text_bytes(), 3U + 3 + 4 + 4);
}

TEST(RequestText, AQueryInFrontOfManyDocumentsEndsAtABound) {
  const FakeText words;
  const RequestText own(words, {}, 1000);
  const std::string query(std::size_t{4} << 20, ' ');
  int num_read = 0;
  auto prompt = own.rank_prompt(query, "a", {});
  for (; prompt && num_read < 2048; ++num_read) prompt = own.rank_prompt(query, "a", {});
  ASSERT_FALSE(prompt);
  EXPECT_LT(num_read, 10);
  EXPECT_THAT(prompt.error().message, HasSubstr(fmt::format("where a text counts each time that it is read, expected "
                                                            "at most {} in a request",
                                                            kMostTextBytes + kMostReadings * 1000)));
}

TEST(RequestText, AStopEndsWhatIsRead) {
  const FakeText words;
  std::stop_source stop;
  const RequestText own(words, stop.get_token(), 0);
  ASSERT_TRUE(own.tokenize("abc", {}));
  stop.request_stop();
  EXPECT_EQ(own.tokenize("abc", {}).error().kind, ErrorKind::kStopped);
  EXPECT_EQ(own.embedding_prompt("abc", {}).error().kind, ErrorKind::kStopped);
}

}  // namespace
}  // namespace octavo::test
