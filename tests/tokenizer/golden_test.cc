// Token ids equal the original's on every text of the corpus, for six real vocabularies.
#include <gtest/gtest.h>

#include "tokenizer/golden_corpus.h"
#include "tokenizer/real_vocab.h"

namespace octavo::test {
namespace {

class TokenizerGolden : public testing::TestWithParam<RealVocab> {};

TEST_P(TokenizerGolden, IdsEqualTheOriginal) {
  const Tokenizer tokenizer = load_real(GetParam().file);
  const auto corpus = read_corpus();
  const auto golden = read_golden_ids(GetParam().name);
  ASSERT_GE(corpus.size(), 2000U);
  ASSERT_EQ(corpus.size(), golden.size());
  int num_wrong = 0;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    const auto ids = tokenizer.encode(corpus[i].text, {.add_special = false, .parse_special = corpus[i].parse_special});
    ASSERT_TRUE(ids) << ids.error().message;
    if (golden[i].matches(*ids)) continue;
    if (++num_wrong <= 10) {
      ADD_FAILURE() << "line " << i + 1 << ": " << shown(corpus[i].text) << "\n  got      "
                    << testing::PrintToString(*ids) << "\n  expected " << testing::PrintToString(golden[i].ids);
    }
  }
  EXPECT_EQ(num_wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(RealVocabs, TokenizerGolden, testing::ValuesIn(kRealVocabs),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace octavo::test
