// A limit of tokens refuses exactly the texts that are more, however early it can tell, and what it cannot tell early
// it finds out at a cost that the limit bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "tokenizer/golden_corpus.h"
#include "tokenizer/pretokenize/pretokenize.h"
#include "tokenizer/real_vocab.h"
#include "tokenizer/small_vocab.h"
#include "tokenizer/token_bound.h"

namespace octavo::test {
namespace {

using testing::ElementsAre;

/// The fault of the limits around a text's own number of tokens; empty: none.
std::string check_limits(const Tokenizer& tokenizer, std::string_view text, TokenizeOptions options) {
  options.max_tokens = 0;
  const auto ids = tokenizer.encode(text, options);
  if (!ids) return ids.error().message;
  if (ids->empty()) return {};
  options.max_tokens = ids->size();
  const auto same = tokenizer.encode(text, options);
  if (!same) return fmt::format("{} tokens: {}", ids->size(), same.error().message);
  if (*same != *ids) return fmt::format("{} tokens: others with a limit", ids->size());
  if (ids->size() == 1) return {};
  for (const std::size_t less : {ids->size() - 1, ids->size() / 2}) {
    options.max_tokens = std::max<std::size_t>(less, 1);
    const auto refused = tokenizer.encode(text, options);
    if (refused) return fmt::format("{} tokens: taken with a limit of {}", ids->size(), options.max_tokens);
    if (refused.error().kind != ErrorKind::kContextOverflow) return "not refused as too many";
  }
  return {};
}

class MaxTokens : public testing::TestWithParam<RealVocab> {};

TEST_P(MaxTokens, RefusesExactlyTheTextsThatAreMore) {
  const Tokenizer tokenizer = load_real(GetParam().file);
  for (const GoldenText& golden : read_corpus()) {
    const std::string wrong =
        check_limits(tokenizer, golden.text, {.add_special = true, .parse_special = golden.parse_special});
    EXPECT_EQ(wrong, "") << shown(golden.text);
  }
}

INSTANTIATE_TEST_SUITE_P(RealVocabs, MaxTokens, testing::ValuesIn(kRealVocabs),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

Tokenizer loaded(const SmallVocab& vocab) {
  auto tokenizer = vocab.load();
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return std::move(*tokenizer);
}

RC_GTEST_PROP(MaxTokensProperty, HoldOnAnyBytes, (const std::string& bytes, bool parse)) {
  static const Tokenizer bpe = loaded(small_bpe());
  static const Tokenizer spm = loaded(small_spm());
  for (const Tokenizer* tokenizer : {&bpe, &spm})
    RC_ASSERT(check_limits(*tokenizer, bytes, {.add_special = true, .parse_special = parse}) == "");
}

RC_GTEST_PROP(MaxTokensProperty, HoldOnTextsOfLongTokens, (const std::vector<std::uint8_t>& choices)) {
  static const Tokenizer bpe = loaded([] {
    SmallVocab vocab = small_bpe();
    vocab.add("\u0120\u0120\u0120\u0120", kUserDefined);  // in the byte alphabet: four spaces
    vocab.merges.emplace_back("\u0120\u0120 \u0120\u0120");
    vocab.add("<tool>", kUserDefined);
    return vocab;
  }());
  static const Tokenizer spm = loaded(small_spm());
  constexpr std::string_view kPieces[] = {"hello",  " hello",      "    ",       "<tool>",
                                          "\u2581", "\u2581hello", "<|im_end|>", "\xC3"};
  std::string text;
  for (const std::uint8_t choice : choices) text += kPieces[choice % std::size(kPieces)];
  for (const Tokenizer* tokenizer : {&bpe, &spm})
    RC_ASSERT(check_limits(*tokenizer, text, {.add_special = false, .parse_special = true}) == "");
}

TEST(MaxTokens, AnOverlongCharacterIsAsLongAsTheOneThatItStandsFor) {
  const Tokenizer tokenizer = loaded(small_bpe());
  std::string text;
  for (const char c : std::string("hello"))
    text += {'\xF0', '\x80', static_cast<char>(0x81), static_cast<char>(c | 0x80)};
  ASSERT_EQ(check_limits(tokenizer, text, {.add_special = false}), "");
}

/// As real ones do, it lacks some bytes: control characters, parts of rare characters.
SmallVocab bpe_without_some_bytes() {
  SmallVocab vocab = small_bpe();
  for (const unsigned byte : {0x04U, 0x7AU, 0x84U, 0xF1U}) vocab.tokens[byte] = fmt::format("unused {}", byte);
  return vocab;
}

TEST(MaxTokens, AByteWithoutATokenCountsForNothing) {
  const Tokenizer tokenizer = loaded(bpe_without_some_bytes());
  const std::string text = std::string(1000, 'z') + "hello" + std::string(1000, '\x04');
  EXPECT_EQ(tokenizer.encode(text, {.add_special = false, .max_tokens = 1})->size(), 1U);
  EXPECT_EQ(check_limits(tokenizer, text + "zhello\x04h", {.add_special = false}), "");
}

RC_GTEST_PROP(MaxTokensProperty, HoldWhereBytesHaveNoToken, (const std::vector<std::uint8_t>& choices, bool parse)) {
  static const Tokenizer tokenizer = loaded(bpe_without_some_bytes());
  constexpr std::string_view kPieces[] = {"hello", "z", "\x04", "\xC3\x84", "\xF1", " w", "<|im_end|>", "l"};
  std::string text;
  for (const std::uint8_t choice : choices) text += kPieces[choice % std::size(kPieces)];
  RC_ASSERT(check_limits(tokenizer, text, {.add_special = false, .parse_special = parse}) == "");
}

TEST(TokenBound, CountsTheFewestTokensThatCanCoverAText) {
  SmallVocab vocab = small_bpe();
  GgufWriter writer;
  writer.add("tokenizer.ggml.model", vocab.model);
  writer.add_array("tokenizer.ggml.tokens", vocab.tokens);
  writer.add_array("tokenizer.ggml.token_type", vocab.types);
  const TempFile file(writer.bytes(), ".gguf");
  const Vocab loaded_vocab = *Vocab::load(**open_model(file.path()));
  const TokenBound bound(loaded_vocab, {});
  EXPECT_EQ(bound.longest(), 13U);  // <|endoftext|>
  const std::string hellos = "hellohellohello";
  EXPECT_FALSE(bound.exceeds(hellos, 3));
  EXPECT_TRUE(bound.exceeds(hellos, 2));
  EXPECT_TRUE(bound.exceeds("zzzz", 3));  // no token that begins with z is longer
  EXPECT_FALSE(bound.exceeds("zzzz", 4));
  EXPECT_FALSE(bound.exceeds("", 0));
  // A vocabulary that lacks a few bytes bounds what has none of them, and what has, as if they were not there.
  std::array<bool, 256> silent{};
  silent['q'] = true;
  const TokenBound with_silence(loaded_vocab, silent);
  EXPECT_TRUE(with_silence.exceeds("zzzz", 3));
  EXPECT_TRUE(with_silence.exceeds("qzqqzzqz", 3));
  EXPECT_FALSE(with_silence.exceeds("qzqqzzqz", 4));
  EXPECT_FALSE(with_silence.exceeds("qqqq", 0));
  EXPECT_EQ(with_silence.num_spoken("qzqqzzqz"), 4U);
}

TEST(PreTokenizer, CutsNoFurtherThanItIsAsked) {
  for (const char* name : {"gpt-2", "smollm", "default"}) {
    const auto pre_tokenizer = PreTokenizer::create(name);
    std::vector<std::uint32_t> ends;
    PreTokenizer::Scratch scratch;
    const auto note = [&](std::uint32_t, std::uint32_t end) {
      ends.push_back(end);
      return ends.size() < 3;
    };
    ASSERT_TRUE(pre_tokenizer->for_each_word("one, two 345 six", note, scratch));
    EXPECT_THAT(ends, ElementsAre(3, 4, 8)) << name;
  }
}

}  // namespace
}  // namespace octavo::test
