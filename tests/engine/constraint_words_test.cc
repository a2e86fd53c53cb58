// A text that a constraint forces, in the tokens of real vocabularies.
#include "engine/text/constraint_words.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "source/open_model.h"

namespace octavo {
namespace {

struct LoadedWords {
  std::unique_ptr<const ModelSource> source = {};
  ModelTokenizer words = {};
  std::shared_ptr<const ConstraintVocabulary> vocabulary = {};
};

/// The words of a file, read once for all tests: that takes longer than the tests do.
const LoadedWords& words_of(const std::filesystem::path& file) {
  static std::map<std::filesystem::path, LoadedWords> all;
  LoadedWords& loaded = all[file];
  if (loaded.vocabulary) return loaded;
  loaded.source = open_model(file).value();
  loaded.words = std::move(ModelTokenizer::load(*loaded.source, true, {}, {}).value());
  loaded.vocabulary = constraint_vocabulary(loaded.words, loaded.words.num_tokens());
  return loaded;
}

class ConstraintWords : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("OCTAVO_TEST_DATA");
    ASSERT_NE(folder, nullptr) << "OCTAVO_TEST_DATA is not set: run scripts/setup, then ctest";
    const LoadedWords& loaded = words_of(std::filesystem::path(folder) / GetParam());
    tokenizer_ = loaded.words.tokenizer();
    vocabulary_ = loaded.vocabulary;
  }
  std::vector<TokenId> ids(const std::string& text) const {
    return tokenizer_->encode(text, {.add_special = false, .parse_special = false}).value();
  }
  std::string spelled(std::optional<TokenId> previous, const std::vector<TokenId>& tokens) const {
    std::string text;
    for (const TokenId token : tokens) {
      text += tokenizer_->bytes_after(previous, token);
      previous = token;
    }
    return text;
  }

  const Tokenizer* tokenizer_ = nullptr;
  std::shared_ptr<const ConstraintVocabulary> vocabulary_;
};

// Where the tokenizer puts a border between two texts, the second is written as it is behind the first.
TEST_P(ConstraintWords, ATextIsWrittenAsItIsBehindTheTokenBeforeIt) {
  int num_compared = 0;
  for (const std::string before : {"{\n  \"", "\"city", "\"a\": ", "Hello", "\xE4\xBD\xA0"}) {
    for (const std::string text : {"\": \"", "name", "\"temperature_in_celsius\":", " and so on", "\n",
                                   "\xC3\xA9t\xC3\xA9", "\xF0\x9F\x98\x80!"}) {
      const std::vector<TokenId> first = ids(before), whole = ids(before + text);
      const std::vector<TokenId> tokens = vocabulary_->encode(first.back(), text);
      if (!tokens.empty()) {
        EXPECT_EQ(spelled(first.back(), tokens), text) << before;
      }
      if (whole.size() <= first.size() || !std::equal(first.begin(), first.end(), whole.begin())) continue;
      EXPECT_EQ(tokens, std::vector<TokenId>(whole.begin() + static_cast<std::ptrdiff_t>(first.size()), whole.end()))
          << before << '|' << text;
      ++num_compared;
    }
  }
  EXPECT_GT(num_compared, 15);
}

TEST_P(ConstraintWords, AnAnswersFirstTextIsWrittenAsATextsBeginning) {
  for (const std::string text : {"Done.", "{\"name\":"}) {
    const std::vector<TokenId> tokens = vocabulary_->encode(std::nullopt, text);
    EXPECT_EQ(tokens, ids(text));
    EXPECT_EQ(spelled(std::nullopt, tokens), text);
  }
  // SentencePiece writes a number behind a space of its own, which is no text at the beginning of one.
  EXPECT_EQ(spelled(std::nullopt, vocabulary_->encode(std::nullopt, "42")), "42");
}

TEST_P(ConstraintWords, APartOfACharacterIsWrittenInNoWayOfTheTokenizers) {
  for (const std::string text : {"\xC3", "a\xF0\x9F", "\xA9"}) {
    const std::vector<TokenId> tokens = vocabulary_->encode(std::nullopt, text);
    if (!tokens.empty()) {
      EXPECT_EQ(spelled(std::nullopt, tokens), text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, ConstraintWords,
                         ::testing::Values("SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf",
                                           "ggml-vocab-qwen2.gguf", "ggml-vocab-llama-bpe.gguf",
                                           "ggml-vocab-llama-spm.gguf"));

}  // namespace
}  // namespace octavo
