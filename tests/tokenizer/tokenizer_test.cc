// The Tokenizer beyond equal ids: special tokens, BOS and EOS, decoding, ends of answers, long texts.
#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>

#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/real_vocab.h"
#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr TokenizeOptions kPlain{.add_special = false, .parse_special = false};
constexpr TokenizeOptions kParse{.add_special = false, .parse_special = true};
constexpr TokenId kHello = 259, kEndOfText = 263;  // of small_bpe()

Tokenizer loaded(const SmallVocab& vocab) {
  auto tokenizer = vocab.load();
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return std::move(*tokenizer);
}

TEST(Tokenizer, MergesInTheOrderOfTheMergeList) {
  const Tokenizer tokenizer = loaded(small_bpe());
  EXPECT_THAT(*tokenizer.encode("hello", kPlain), ElementsAre(kHello));
  EXPECT_THAT(*tokenizer.encode("hell", kPlain), ElementsAre(258));
  EXPECT_THAT(*tokenizer.encode("helo", kPlain), ElementsAre(256, 'l', 'o'));
}

TEST(Tokenizer, LongAndShortWordsMergeAlike) {
  // Words of up to 32 bytes take another path than longer ones.
  const Tokenizer tokenizer = loaded(small_bpe());
  for (int count = 1; count < 20; ++count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "hello";
    EXPECT_EQ(*tokenizer.encode(text, kPlain), std::vector<TokenId>(static_cast<std::size_t>(count), kHello));
  }
}

TEST(Tokenizer, ControlTokensAreParsedOnlyWhenAsked) {
  const Tokenizer tokenizer = loaded(small_bpe());
  EXPECT_THAT(*tokenizer.encode("hello<|endoftext|>hello", kParse), ElementsAre(kHello, kEndOfText, kHello));
  EXPECT_THAT(*tokenizer.encode("<|endoftext|>", kPlain), Not(Contains(kEndOfText)));
}

TEST(Tokenizer, UserDefinedTokensAreFoundInAnyText) {
  SmallVocab vocab = small_bpe();
  const TokenId tag = vocab.add("<tag>", kUserDefined);
  EXPECT_THAT(*loaded(vocab).encode("hello<tag>hello", kPlain), ElementsAre(kHello, tag, kHello));
}

TEST(Tokenizer, LongerSpecialTokenWinsWhereTwoOverlap) {
  SmallVocab vocab = small_bpe();
  const TokenId ab = vocab.add("<ab", kUserDefined);
  const TokenId abcd = vocab.add("b<cd>", kUserDefined);
  const TokenId aa = vocab.add("<a", kUserDefined);
  const Tokenizer tokenizer = loaded(vocab);
  EXPECT_THAT(*tokenizer.encode("<ab<cd>", kPlain), ElementsAre(aa, abcd));  // llama.cpp: length before position
  EXPECT_THAT(*tokenizer.encode("<ab<ab<a", kPlain), ElementsAre(ab, ab, aa));
}

TEST(Tokenizer, MergesNeverMakeAControlToken) {
  SmallVocab vocab = small_bpe();
  const TokenId control = vocab.add("xy", kControl);
  vocab.merges.emplace_back("x y");
  EXPECT_THAT(*loaded(vocab).encode("xy", kPlain), ElementsAre('x', 'y'));
  EXPECT_THAT(*loaded(vocab).encode("xy", kParse), ElementsAre(control));
  SmallVocab spm = small_spm();
  const TokenId secret = spm.add("xy", kControl, 100);
  EXPECT_THAT(*loaded(spm).encode("xy", kPlain), Not(Contains(secret)));
}

TEST(Tokenizer, WholeWordsThatAreControlTokensStayText) {
  SmallVocab vocab = small_bpe();
  vocab.pre = "llama-bpe";  // takes whole words before merging
  vocab.flags = {{"add_bos_token", false}};
  vocab.add("secret", kControl);
  const TokenId word = vocab.add("wholeword");
  EXPECT_THAT(*loaded(vocab).encode("secret", kPlain), ElementsAre('s', 'e', 'c', 'r', 'e', 't'));
  EXPECT_THAT(*loaded(vocab).encode("wholeword", kPlain), ElementsAre(word));
}

TEST(Tokenizer, BosIsAddedAsTheFileSaysUnlessTheTextHasIt) {
  SmallVocab vocab = small_bpe();
  vocab.ids = {{"bos_token_id", kEndOfText}, {"eos_token_id", 265}};
  EXPECT_THAT(*loaded(vocab).encode("hello", {}), ElementsAre(kHello));
  vocab.flags = {{"add_bos_token", true}};
  EXPECT_THAT(*loaded(vocab).encode("hello", {}), ElementsAre(kEndOfText, kHello));
  EXPECT_THAT(*loaded(vocab).encode("<|endoftext|>hello", {}), ElementsAre(kEndOfText, kHello));
  EXPECT_THAT(*loaded(vocab).encode("", {}), ElementsAre(kEndOfText));
  EXPECT_THAT(*loaded(vocab).encode("hello", kPlain), ElementsAre(kHello));
  vocab.flags.emplace_back("add_eos_token", true);
  EXPECT_THAT(*loaded(vocab).encode("hello", {}), ElementsAre(kEndOfText, kHello, 265));
}

TEST(Tokenizer, SpmAddsBosAndASpaceByDefault) {
  const Tokenizer tokenizer = loaded(small_spm());
  const TokenId hello = 3 + 256 + 27 + 4;  // "▁hello"
  EXPECT_THAT(*tokenizer.encode("hello", {}), ElementsAre(1, hello));
  EXPECT_THAT(*tokenizer.encode("hello</s>hello", {}), ElementsAre(1, hello, 2, hello));
  SmallVocab vocab = small_spm();
  vocab.flags = {{"add_space_prefix", false}, {"add_bos_token", false}};
  EXPECT_THAT(*loaded(vocab).encode("hello", {}), ElementsAre(hello - 1));
}

TEST(Tokenizer, SpmWritesUnknownCharactersAsBytes) {
  SmallVocab vocab = small_spm();
  vocab.flags = {{"add_space_prefix", false}};
  EXPECT_THAT(*loaded(vocab).encode("\xC3\xA9\xFF", kPlain), ElementsAre(3 + 0xC3, 3 + 0xA9, 3 + 0xFF));
}

TEST(Tokenizer, BytesWithoutATokenAreLeftOut) {
  SmallVocab vocab{.model = "gpt2", .pre = "gpt-2"};
  vocab.add("a");
  EXPECT_THAT(*loaded(vocab).encode("abab", kPlain), ElementsAre(0, 0));
  std::string longer(100, 'b');
  EXPECT_THAT(*loaded(vocab).encode("a" + longer + "a", kPlain), ElementsAre(0, 0));
}

TEST(Tokenizer, EndsOfAnswersAreNamedByKeyOrKnownByText) {
  SmallVocab vocab = small_bpe();
  const TokenId turn = vocab.add("<end_of_turn>", kControl);
  const TokenId mistyped = vocab.add("<|eot_id|>", kNormal);
  const TokenId html = vocab.add("</s>", kUserDefined);
  vocab.ids = {{"eos_token_id", 'q'}, {"eot_token_id", 'r'}, {"eom_token_id", 's'}};
  const Tokenizer tokenizer = loaded(vocab);
  for (const TokenId id : {static_cast<TokenId>('q'), static_cast<TokenId>('r'), static_cast<TokenId>('s'), turn,
                           mistyped, kEndOfText, 265}) {
    EXPECT_TRUE(tokenizer.is_end_of_generation(id)) << id;
  }
  for (const TokenId id : {static_cast<TokenId>('a'), kHello, html, 264}) {
    EXPECT_FALSE(tokenizer.is_end_of_generation(id)) << id;
  }
  EXPECT_TRUE(tokenizer.is_control(mistyped));
  EXPECT_FALSE(tokenizer.is_control(kHello));
}

TEST(Tokenizer, EndsOfTheRealModels) {
  const auto ends = [](std::string_view file) {
    const Tokenizer tokenizer = load_real(file);
    std::vector<TokenId> ids;
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
      if (tokenizer.is_end_of_generation(id)) ids.push_back(id);
    }
    return ids;
  };
  EXPECT_THAT(ends("SmolLM2-135M-Instruct.Q4_1.gguf"), ElementsAre(0, 2, 4));  // end of text, im_end, reponame
  EXPECT_THAT(ends("gemma-3-270m-q4_k_m.gguf"), ElementsAre(1, 106));
  EXPECT_THAT(ends("ggml-vocab-llama-bpe.gguf"), ElementsAre(128001, 128009));
  EXPECT_THAT(ends("ggml-vocab-llama-spm.gguf"), ElementsAre(2));
}

TEST(Tokenizer, SpmDecodingTakesItsSpaceBack) {
  const Tokenizer tokenizer = loaded(small_spm());
  for (const char* text : {"hello", " hello", "hello hello", "", "a</s>b", " </s> "}) {
    EXPECT_EQ(tokenizer.decode(*tokenizer.encode(text, kParse)), text);
  }
  EXPECT_EQ(tokenizer.bytes_after('h', 3 + 256 + 27 + 4), " hello");
}

RC_GTEST_PROP(TokenizerProperty, ByteLevelDecodingGivesTheTextBack, (const std::string& text, bool parse)) {
  static const Tokenizer tokenizer = loaded(small_bpe());
  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = parse});
  RC_ASSERT(ids.has_value());
  RC_ASSERT(tokenizer.decode(*ids) == (is_valid_utf8(text) ? text : repair_utf8(text).text));
}

RC_GTEST_PROP(TokenizerProperty, SpmDecodingGivesTheTextBack, (const std::string& bytes)) {
  // Of whole characters only: a lead byte without its rest takes a part of the next space's U+2581 with it, as in
  // llama.cpp, and then stands before the two other bytes of it.
  static const Tokenizer tokenizer = loaded(small_spm());
  const std::string text = repair_utf8(bytes).text;
  const auto ids = tokenizer.encode(text, kPlain);
  RC_ASSERT(ids.has_value());
  RC_ASSERT(tokenizer.decode(*ids) == text);
}

RC_GTEST_PROP(TokenizerProperty, SpmTakesAnyBytes, (const std::string& bytes)) {
  static const Tokenizer tokenizer = loaded(small_spm());
  const auto ids = tokenizer.encode(bytes, kPlain);
  RC_ASSERT(ids.has_value());
  RC_ASSERT(tokenizer.decode(*ids).size() >= bytes.size());
}

std::vector<std::uint8_t> random_bytes(std::size_t size, std::uint64_t state) {
  std::vector<std::uint8_t> bytes(size);
  for (auto& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::uint8_t>(state >> 56);
  }
  return bytes;
}

TEST(Tokenizer, RealByteLevelVocabulariesGiveAnyTextBack) {
  // SmolLM2 is not among them: it has no tokens for six control characters and two lead bytes.
  for (const char* file : {"ggml-vocab-qwen2.gguf", "ggml-vocab-llama-bpe.gguf", "ggml-vocab-gpt-2.gguf"}) {
    const Tokenizer tokenizer = load_real(file);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const auto bytes = random_bytes(1 + seed * 7 % 97, seed);
      const std::string text = repair_utf8({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).text;
      EXPECT_EQ(tokenizer.decode(*tokenizer.encode(text, kPlain)), text) << file << " seed " << seed;
    }
  }
}

TEST(Tokenizer, LongRunsOfOneThingTakeNoLongerThanText) {
  // Quadratic time would be minutes each; the bound leaves room for sanitizers on a busy machine.
  for (const char* file :
       {"SmolLM2-135M-Instruct.Q4_1.gguf", "ggml-vocab-llama-bpe.gguf", "gemma-3-270m-q4_k_m.gguf"}) {
    const Tokenizer tokenizer = load_real(file);
    for (const std::string unit : {" ", "a", "\n", " \n", "\t ", "ab", "'", "<", "\xFF", "1", "\xCC\x81"}) {
      std::string text;
      while (text.size() < 300'000) text += unit;
      const auto start = std::chrono::steady_clock::now();
      const auto ids = tokenizer.encode(text, {});
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      ASSERT_TRUE(ids) << ids.error().message;
      EXPECT_FALSE(ids->empty());
      EXPECT_LT(seconds.count(), 20) << file << " " << testing::PrintToString(unit);
    }
  }
}

}  // namespace
}  // namespace octavo::test
