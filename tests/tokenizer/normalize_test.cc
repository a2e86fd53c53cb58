// Normalization; tools/tokenizer_truth.py compares it with that of `tokenizers` for every mark.
#include "tokenizer/text/normalize.h"

#include <gtest/gtest.h>

namespace octavo::test {
namespace {

TEST(Normalize, ComposesAndOrders) {
  EXPECT_EQ(normalize("e\u0301", Normalization::kNfc), "é");
  EXPECT_EQ(normalize("a\u0301\u0323", Normalization::kNfc), "\u1EA1\u0301");
  EXPECT_EQ(normalize("\u1112\u1161\u11AB", Normalization::kNfc), "한");
  EXPECT_EQ(normalize("\u212B\u2000", Normalization::kNfc), "\u00C5\u2002");
  EXPECT_EQ(normalize("ﬁ²", Normalization::kNfc), "ﬁ²");
  EXPECT_EQ(normalize("ﬁ²Ａ\u00A0", Normalization::kNfkc), "fi2A ");
  EXPECT_EQ(normalize("e\u0301", Normalization::kNone), "e\u0301");
}

TEST(Normalize, SurrogatesStay) { EXPECT_EQ(normalize("e\u0301\xED\xA0\x80", Normalization::kNfc), "é\xED\xA0\x80"); }

TEST(Normalize, AMillionMarksAreOrderedAtOnce) {
  std::string text = "a";
  std::string expected = "\u1EA1";
  for (int i = 0; i < 250'000; ++i) text += "\u0301\u0323";
  const std::string result = normalize(text, Normalization::kNfc);
  EXPECT_EQ(result.size(), text.size() - 1 - 2 + 3);
  EXPECT_EQ(result.substr(0, 7), expected + "\u0323\u0323");
}

}  // namespace
}  // namespace octavo::test
