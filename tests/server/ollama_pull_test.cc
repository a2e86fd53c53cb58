// The lines of a stream of /api/pull.
#include "server/ollama_pull.h"

#include <gtest/gtest.h>

namespace octavo::server {
namespace {

TEST(OllamaPull, AStageThatPassedUnseenIsToldAsWell) {
  const std::string verifying = "{\"status\":\"verifying sha256 digest\"}\n",
                    writing = "{\"status\":\"writing manifest\"}\n";
  const PullNews fetching{.stage = PullNews::Stage::kFetching}, seen{.stage = PullNews::Stage::kVerifying};
  const PullNews offering{.stage = PullNews::Stage::kOffering};
  EXPECT_EQ(pull_lines(fetching, offering), verifying + writing);
  EXPECT_EQ(pull_lines(seen, offering), writing);
}

}  // namespace
}  // namespace octavo::server
