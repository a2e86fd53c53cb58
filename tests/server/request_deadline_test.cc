// The time limits that a request has in its head.
#include "server/request_deadline.h"

#include <gmock/gmock.h>

namespace octavo::test {
namespace {

using namespace server;
using ::testing::HasSubstr;

HttpRequest head(std::string_view first, std::string_view next) {
  HttpRequest request;
  const auto set = [&](const char* name, std::string_view value) {
    if (!value.empty()) request.set(name, boost::beast::string_view(value.data(), value.size()));
  };
  set("x-llm-d-slo-ttft-ms", first);
  set("x-llm-d-slo-tpot-ms", next);
  return request;
}

double shortened(std::string_view first, std::string_view next, double deadline_s, int max_tokens) {
  Request request{.max_tokens = max_tokens, .deadline_s = deadline_s};
  const auto pace = asked_pace(head(first, next));
  EXPECT_TRUE(pace.has_value());
  if (pace) pace->shorten(request);
  return request.deadline_s;
}

TEST(AskedPace, ShortensADeadlineToTheTimeOfTheWholeAnswer) {
  EXPECT_DOUBLE_EQ(shortened("2000", "100", 60, 11), 3);
  EXPECT_DOUBLE_EQ(shortened("2000", "100", 60, 1), 2);
}

TEST(AskedPace, MakesNoDeadlineLongerAndNone) {
  EXPECT_EQ(shortened("2000", "100", 1, 11), 1);
  EXPECT_EQ(shortened("2000", "100", 0, 11), 0);
}

TEST(AskedPace, SaysNothingOfAnAnswerWhoseLengthOrPaceIsNotKnown) {
  EXPECT_EQ(shortened("2000", "", 60, 11), 60);
  EXPECT_EQ(shortened("", "100", 60, 11), 60);
  EXPECT_EQ(shortened("2000", "100", 60, 0), 60);
}

TEST(AskedPace, IsANumberAboveZero) {
  for (const char* wrong : {"0", "-1", "soon", "1e99", "nan", "10 ms"}) {
    const auto pace = asked_pace(head(wrong, ""));
    ASSERT_FALSE(pace.has_value()) << wrong;
    EXPECT_THAT(pace.error().message, HasSubstr("x-llm-d-slo-ttft-ms: found '")) << wrong;
    EXPECT_EQ(pace.error().status, 400);
  }
}

}  // namespace
}  // namespace octavo::test
