#include "cli/options/nearest.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

using cli::did_you_mean;
using cli::edit_distance;
using cli::nearest;

const std::vector<std::string> kNames = {"--threads", "--temp", "--top-k", "--max-tokens", "--min-tokens", "-t"};

TEST(Nearest, DistanceCountsInsertedDroppedChangedAndSwappedLetters) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("chat", "chat"), 0U);
  EXPECT_EQ(edit_distance("Chat", "chat"), 0U);
  EXPECT_EQ(edit_distance("cht", "chat"), 1U);
  EXPECT_EQ(edit_distance("chaat", "chat"), 1U);
  EXPECT_EQ(edit_distance("chet", "chat"), 1U);
  EXPECT_EQ(edit_distance("caht", "chat"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, ASlipFindsTheNameAndAnotherWordDoesNot) {
  EXPECT_EQ(nearest("--thread", kNames), "--threads");
  EXPECT_EQ(nearest("-threads", kNames), "--threads");
  EXPECT_EQ(nearest("--max_tokens", kNames), "--max-tokens");
  EXPECT_EQ(nearest("--top", kNames), "--top-k");  // begins with it
  EXPECT_EQ(nearest("--rep", std::vector<std::string>{"--seed", "--repeat-penalty", "--repeat-last-n"}),
            "--repeat-penalty");  // the first of several
  EXPECT_EQ(nearest("--n-predict", kNames), "");
  EXPECT_EQ(nearest("--x", kNames), "");
  EXPECT_EQ(nearest("--", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kNames), "");  // at once
  EXPECT_EQ(did_you_mean("--thread", kNames), "; did you mean --threads?");
  EXPECT_EQ(did_you_mean("--n-predict", kNames), "");
}

}  // namespace
}  // namespace octavo
