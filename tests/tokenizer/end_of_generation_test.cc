// Every family's answers end: by its keys, by the texts of its tokens, and at last by any end that it has.
#include "tokenizer/words/end_of_generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/small_vocab.h"

namespace octavo::test {
namespace {

using testing::ElementsAre;

/// The tokens that end an answer, of a vocabulary with these control tokens and keys.
std::vector<std::string> ends(const std::vector<std::string>& texts,
                              const std::vector<std::pair<std::string, std::string>>& keys = {}) {
  SmallVocab vocab{.model = "gpt2", .pre = "gpt-2"};
  const ByteAlphabet alphabet;
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocab.add(std::string(alphabet.character(static_cast<std::uint8_t>(byte))));
  }
  for (const std::string& text : texts) {
    const TokenId id = vocab.add(text, kControl);
    for (const auto& [key, value] : keys) {
      if (value == text) vocab.ids.emplace_back(key, static_cast<std::uint32_t>(id));
    }
  }
  const auto tokenizer = vocab.load();
  if (!tokenizer) return {tokenizer.error().message};
  std::vector<std::string> found;
  for (TokenId id = 0; id < tokenizer->vocab_size(); ++id) {
    if (tokenizer->is_end_of_generation(id)) found.emplace_back(tokenizer->token_bytes(id));
  }
  return found;
}

TEST(EndOfGeneration, ByTextInEachFamily) {
  EXPECT_THAT(ends({"<|im_start|>", "<|im_end|>", "<|endoftext|>"}), ElementsAre("<|im_end|>", "<|endoftext|>"));
  EXPECT_THAT(ends({"<|begin_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|start_header_id|>"}),
              ElementsAre("<|eot_id|>", "<|eom_id|>"));
  EXPECT_THAT(ends({"<|eot|>", "<|eom|>", "<|header_start|>"}), ElementsAre("<|eot|>", "<|eom|>"));
  EXPECT_THAT(ends({"<start_of_turn>", "<end_of_turn>"}), ElementsAre("<end_of_turn>"));
  EXPECT_THAT(ends({"<|turn>", "<turn|>", "<eos>"}), ElementsAre("<turn|>", "<eos>"));
  EXPECT_THAT(ends({"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"}), ElementsAre("<｜end▁of▁sentence｜>"));
  EXPECT_THAT(ends({"<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"}), ElementsAre("<|END_OF_TURN_TOKEN|>"));
  EXPECT_THAT(ends({"[|assistant|]", "[|endofturn|]"}), ElementsAre("[|endofturn|]"));
  EXPECT_THAT(ends({"<|user|>", "<|assistant|>", "<|end|>"}), ElementsAre("<|end|>"));
  EXPECT_THAT(ends({"<|EOT|>"}), ElementsAre("<|EOT|>"));
}

TEST(EndOfGeneration, HarmonyEndsAnAnswerAndNotEachMessage) {
  EXPECT_THAT(ends({"<|start|>", "<|end|>", "<|message|>", "<|return|>", "<|call|>"}),
              ElementsAre("<|return|>", "<|call|>"));
  EXPECT_THAT(ends({"<|end|>", "<|flush|>", "<|calls|>"}), ElementsAre("<|flush|>", "<|calls|>"));
}

TEST(EndOfGeneration, GlmEndsWhereSomebodyElseSpeaks) {
  EXPECT_THAT(ends({"<|endoftext|>", "[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|observation|>"}),
              ElementsAre("<|endoftext|>", "<|user|>", "<|observation|>"));
}

TEST(EndOfGeneration, ByKey) {
  EXPECT_THAT(ends({"<s>", "</s>", "<x>", "<y>"}, {{"eos_token_id", "</s>"}}), ElementsAre("</s>"));
  EXPECT_THAT(ends({"<s>", "</s>", "<x>", "<y>"}, {{"eot_token_id", "<x>"}, {"eom_token_id", "<y>"}}),
              ElementsAre("<x>", "<y>"));
}

TEST(EndOfGeneration, AListOfIds) {
  const SmallVocab vocab = small_bpe();
  const auto with = [&vocab](std::vector<std::int32_t> ids) {
    return vocab.load_with([&](GgufWriter& writer) { writer.add_array("tokenizer.ggml.eos_token_ids", ids); });
  };
  EXPECT_TRUE(with({65, 66})->is_end_of_generation(66));
  EXPECT_THAT(with({65, 266}).error().message, testing::HasSubstr("eos_token_ids: 266 is not a token"));
  EXPECT_THAT(with({-1}).error().message, testing::HasSubstr("eos_token_ids: -1 is not a token"));
}

// llama.cpp saves a model with an id of -1 for each kind of token that it does not have.
TEST(EndOfGeneration, AnIdThatIsUnspecifiedIsNone) {
  const auto with = [](std::uint32_t id) {
    return small_bpe().load_with([id](GgufWriter& writer) {
      for (const char* kind : {"eot", "eom", "seperator", "fim_pre"})
        writer.add(std::string("tokenizer.ggml.") + kind + "_token_id", id);
    });
  };
  EXPECT_TRUE(with(4294967295U));
  EXPECT_THAT(with(4294967294U).error().message, testing::HasSubstr("4294967294 is not a token"));
}

TEST(EndOfGeneration, AVocabularyWithNoOtherEndHasTheLastOne) {
  EXPECT_THAT(ends({"<s>", "</s>"}), ElementsAre("</s>"));
  EXPECT_THAT(ends({"<s>", "</s>", "<|im_end|>"}), ElementsAre("<|im_end|>"));
}

}  // namespace
}  // namespace octavo::test
