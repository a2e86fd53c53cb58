// Pictures over HTTP: what a server says of a model that sees, and how it answers.
#include <gmock/gmock.h>

#include "server/test_client.h"

namespace octavo::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SeenPictures : public ServerTest {
 protected:
  SeenPictures() {
    script_.vision = {.family = "eyes", .min_tokens = 8, .max_tokens = 512, .most_tokens = 2048};
    script_.embedding.generates = true;
  }
};

TEST_F(SeenPictures, AModelThatSeesSaysSoToThoseWhoAsk) {
  start_ready();
  EXPECT_THAT(ask(get("/v1/models")), HasSubstr(R"("capabilities":["completion","multimodal"])"));
  EXPECT_THAT(ask(post("/api/show", "{}")), HasSubstr(R"("capabilities":["completion","vision"])"));
  EXPECT_THAT(ask(get("/props")), HasSubstr(R"("modalities":{"vision":true,"audio":false})"));
}

TEST_F(SeenPictures, APictureGoesToTheEngineAndItsTokensAreCounted) {
  start_ready();
  const std::string answer = ask(post("/v1/chat/completions", R"({"max_tokens": 3, "messages": [{"role": "user",
      "content": [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "b25l"}}]}]})"));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr(R"("image_tokens":1)")));
  const std::lock_guard lock(script_.mutex);
  ASSERT_EQ(script_.requests.at(0).pictures.size(), 1U);
  EXPECT_EQ(script_.requests.at(0).pictures.at(0).first, 5);
}

}  // namespace
}  // namespace octavo::test
