// Vocabularies that contradict themselves are refused with a message that names the key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tokenizer/small_vocab.h"
#include "tokenizer/words/vocab.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const Result<Tokenizer>& result) { return result ? "(accepted)" : result.error().message; }

TEST(HostileVocab, SmallOnesAreAccepted) {
  EXPECT_TRUE(small_bpe().load()) << message_of(small_bpe().load());
  EXPECT_TRUE(small_spm().load()) << message_of(small_spm().load());
}

TEST(HostileVocab, MissingModelNamesTheKey) {
  SmallVocab vocab = small_bpe();
  vocab.model.clear();
  EXPECT_THAT(message_of(vocab.load()), HasSubstr("tokenizer.ggml.model"));
}

TEST(HostileVocab, MoreTokensThanAnyVocabularyHasAreRefused) {
  SmallVocab vocab = small_bpe();
  vocab.tokens.resize(Vocab::kMaxTokens + 1);
  vocab.types.clear();
  EXPECT_THAT(message_of(vocab.load()), AllOf(HasSubstr("tokenizer.ggml.tokens"), HasSubstr("expected at most")));
}

TEST(HostileVocab, UnknownModelListsThoseSupported) {
  SmallVocab vocab = small_bpe();
  vocab.model = "rwkv";
  EXPECT_THAT(message_of(vocab.load()),
              AllOf(HasSubstr("'rwkv'"), HasSubstr("gpt2"), HasSubstr("llama"), HasSubstr("bert"), HasSubstr("t5")));
}

TEST(HostileVocab, UnknownPreTokenizerListsThoseSupported) {
  SmallVocab vocab = small_bpe();
  vocab.pre = "tekkon";
  EXPECT_THAT(message_of(vocab.load()),
              AllOf(HasSubstr("tokenizer.ggml.pre"), HasSubstr("'tekkon'"), HasSubstr("smollm"), HasSubstr("qwen2")));
}

TEST(HostileVocab, PartOfANameIsNoPreTokenizer) {
  for (const char* name : {"gpt", "llama", "bpe", "gpt-2 phi-2", " "}) {
    SmallVocab vocab = small_bpe();
    vocab.pre = name;
    EXPECT_THAT(message_of(vocab.load()), HasSubstr("not supported")) << name;
  }
}

TEST(HostileVocab, MissingArraysNameTheKey) {
  SmallVocab no_tokens = small_bpe();
  no_tokens.tokens.clear();
  EXPECT_THAT(message_of(no_tokens.load()), HasSubstr("tokenizer.ggml.tokens"));
  SmallVocab no_scores = small_spm();
  no_scores.scores.clear();
  EXPECT_THAT(message_of(no_scores.load()), HasSubstr("tokenizer.ggml.scores"));
  SmallVocab no_types = small_spm();
  no_types.types.clear();
  EXPECT_THAT(message_of(no_types.load()), HasSubstr("tokenizer.ggml.token_type"));
  GgufWriter no_merges;
  no_merges.add("tokenizer.ggml.model", "gpt2").add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  const TempFile file(no_merges.bytes());
  EXPECT_THAT(message_of(Tokenizer::load(**open_model(file.path()))), HasSubstr("tokenizer.ggml.merges"));
}

TEST(HostileVocab, EmptyTokenListIsRefused) {
  SmallVocab vocab = small_bpe();
  vocab.tokens.clear();
  const auto result = vocab.load_with(
      [](GgufWriter& writer) { writer.add_array("tokenizer.ggml.tokens", std::vector<std::string>{}); });
  EXPECT_THAT(message_of(result), HasSubstr("tokenizer.ggml.tokens is empty"));
}

TEST(HostileVocab, ArraysOfUnequalLengthNameTheKeyAndBothLengths) {
  SmallVocab types = small_bpe();
  types.types.pop_back();
  EXPECT_THAT(message_of(types.load()),
              AllOf(HasSubstr("tokenizer.ggml.token_type has 265"), HasSubstr("expected 266")));
  SmallVocab scores = small_spm();
  scores.scores.push_back(0);
  EXPECT_THAT(message_of(scores.load()), HasSubstr("tokenizer.ggml.scores has"));
}

TEST(HostileVocab, RepeatedTokenNamesBothEntries) {
  SmallVocab vocab = small_bpe();
  vocab.add("hello");
  EXPECT_THAT(message_of(vocab.load()), AllOf(HasSubstr("entries 259 and 266"), HasSubstr("'hello'")));
}

TEST(HostileVocab, IdsOutsideTheVocabularyNameTheKey) {
  for (const char* key : {"bos_token_id", "eos_token_id", "unknown_token_id", "eot_token_id", "eom_token_id"}) {
    for (const std::uint32_t id : {266U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFEU}) {
      SmallVocab vocab = small_bpe();
      vocab.ids = {{key, id}};
      EXPECT_THAT(message_of(vocab.load()), AllOf(HasSubstr(key), HasSubstr(std::to_string(id)))) << key;
    }
  }
}

TEST(HostileVocab, MergesOfMissingTokensNameTheEntry) {
  for (const char* merge : {"xx y", "x yy", "x y", "xy", " ", "", "x ", " x"}) {
    SmallVocab vocab = small_bpe();
    vocab.merges.push_back(merge);
    EXPECT_THAT(message_of(vocab.load()), HasSubstr("tokenizer.ggml.merges: entry 7")) << merge;
  }
}

TEST(HostileVocab, ScoreThatIsNoNumberIsRefused) {
  SmallVocab vocab = small_spm();
  vocab.scores[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message_of(vocab.load()), HasSubstr("tokenizer.ggml.scores: entry 7"));
}

TEST(HostileVocab, ByteTokenThatNamesNoByteIsRefused) {
  for (const char* text : {"<0xGG>", "<0x4>", "0x41", "<0x041>"}) {
    SmallVocab vocab = small_spm();
    vocab.add(text, kByte);
    EXPECT_THAT(message_of(vocab.load()), HasSubstr("tokenizer.ggml.token_type: token")) << text;
  }
}

TEST(HostileVocab, MissingByteNeedsAnUnknownToken) {
  SmallVocab vocab = small_spm();
  vocab.tokens[3] = "not a byte";
  vocab.types[3] = kNormal;
  EXPECT_TRUE(vocab.load());
  vocab.ids.pop_back();
  EXPECT_THAT(message_of(vocab.load()), AllOf(HasSubstr("<0x00>"), HasSubstr("tokenizer.ggml.unknown_token_id")));
}

TEST(HostileVocab, BosAndEosThatAreAskedForMustBeNamed) {
  SmallVocab vocab = small_bpe();
  vocab.flags = {{"add_bos_token", true}};
  EXPECT_THAT(message_of(vocab.load()), HasSubstr("tokenizer.ggml.bos_token_id"));
  vocab.flags = {{"add_eos_token", true}};
  EXPECT_THAT(message_of(vocab.load()), HasSubstr("tokenizer.ggml.eos_token_id"));
}

TEST(HostileVocab, KeysOfAnotherTypeAreRefused) {
  SmallVocab vocab = small_bpe();
  const auto result = vocab.load_with([](GgufWriter& writer) { writer.add("tokenizer.ggml.add_bos_token", "yes"); });
  EXPECT_THAT(message_of(result), HasSubstr("tokenizer.ggml.add_bos_token"));
}

TEST(HostileVocab, EmptyTextsGetANameOfTheirOwn) {
  SmallVocab vocab = small_bpe();
  const TokenId first = vocab.add("");
  const TokenId second = vocab.add("");
  const auto tokenizer = vocab.load();
  ASSERT_TRUE(tokenizer) << message_of(tokenizer);
  EXPECT_NE(tokenizer->token_bytes(first), tokenizer->token_bytes(second));
}

}  // namespace
}  // namespace octavo::test
