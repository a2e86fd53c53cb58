// Files whose words are missing or of an unknown kind: they load for token ids, and what needs words says why not.
#include "engine/text/model_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_file.h"
#include "support/tiny_model.h"
#include "test_engine.h"

namespace octavo {
namespace {

using test::GgufWriter;
using test::TempFile;
using test::TinyModel;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A file without words, and the message of what needs them.
struct Case {
  std::string name;
  std::function<void(GgufWriter&)> words;
  std::string key, found;
};

const std::vector<std::string> kTokens = {"a", "b"};

class WithoutWords : public testing::TestWithParam<Case> {
 protected:
  WithoutWords() : file_(TinyModel{.extra = GetParam().words}.bytes(), ".gguf") {}

  Result<std::unique_ptr<Engine>> load(bool require_words) {
    return Engine::load(
        {.model_path = file_.path(), .num_threads = 1, .kv_memory_bytes = 1U << 20, .require_words = require_words});
  }
  /// The error of a result says that there are no words, and why.
  template <class T>
  void expect_no_words(const Result<T>& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::kNoWords);
    EXPECT_THAT(result.error().message,
                AllOf(HasSubstr(file_.path().string()), HasSubstr(GetParam().key), HasSubstr(GetParam().found)));
  }

  TempFile file_;
};

INSTANTIATE_TEST_SUITE_P(
    Files, WithoutWords,
    testing::Values(Case{"none", {}, "tokenizer.ggml.model", "missing"},
                    Case{"unknown_model", [](GgufWriter& w) { w.add("tokenizer.ggml.model", "rune-wheel"); },
                         "tokenizer.ggml.model", "rune-wheel"},
                    Case{"no_tokens", [](GgufWriter& w) { w.add("tokenizer.ggml.model", "gpt2"); },
                         "tokenizer.ggml.tokens", "missing"},
                    Case{"unknown_pre",
                         [](GgufWriter& w) {
                           w.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "quipu");
                           w.add_array("tokenizer.ggml.tokens", kTokens);
                         },
                         "tokenizer.ggml.pre", "quipu"},
                    Case{"no_merges",
                         [](GgufWriter& w) {
                           w.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
                           w.add_array("tokenizer.ggml.tokens", kTokens);
                         },
                         "tokenizer.ggml.merges", "missing"}),
    [](const auto& test) { return test.param.name; });

TEST_P(WithoutWords, LoadsForTokenIds) {
  const auto loaded = load(false);
  ASSERT_TRUE(loaded) << loaded.error().message;
  Engine& engine = **loaded;
  EXPECT_EQ(engine.info().num_tokens, 0);
  EXPECT_EQ(engine.info().vocab_size, 80);
  int num_tokens = 0, num_rows = 0;
  std::string text;
  FinishReason finish = FinishReason::kNone;
  Request request = test::make_request(20, 7, 1, 80);
  request.on_prompt_logits = [&](int, std::span<const float> rows) { num_rows += static_cast<int>(rows.size()) / 80; };
  ASSERT_TRUE(engine.submit(std::move(request), [&](const TokenEvent& event) {
    num_tokens += event.token >= 0;
    text += event.text;
    finish = event.finish;
  }));
  engine.run();
  EXPECT_EQ(num_tokens, 7);
  EXPECT_EQ(num_rows, 20);
  EXPECT_EQ(text, "");
  EXPECT_EQ(finish, FinishReason::kLength);
}

TEST_P(WithoutWords, SaysWhyNotWhereTextIsAskedFor) {
  const auto loaded = load(false);
  ASSERT_TRUE(loaded);
  Engine& engine = **loaded;
  expect_no_words(engine.text()->tokenize("a", {}));
  const ChatMessage message{.role = "user", .content = "a"};
  expect_no_words(engine.text()->apply_chat_template({&message, 1}));
  Request request = test::make_request(3, 2, 1, 80);
  request.stop = {"a"};
  const auto submitted = engine.submit(std::move(request), {});
  expect_no_words(submitted);
  EXPECT_THAT(submitted.error().message, HasSubstr("stop: found 1 texts, expected none"));
  constexpr TokenId kSome[] = {0, 1, 79};
  EXPECT_EQ(engine.text()->detokenize(kSome), "");
}

TEST_P(WithoutWords, IsRefusedWhereWordsAreRequired) { expect_no_words(load(true)); }

TEST(ModelTokenizer, ThatAreWrongAreRefusedAlways) {
  const TempFile file(TinyModel{.extra =
                                    [](GgufWriter& w) {
                                      w.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
                                      w.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "a"});
                                    }}
                          .bytes(),
                      ".gguf");
  const auto engine = Engine::load({.model_path = file.path(), .num_threads = 1, .kv_memory_bytes = 1U << 20});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().kind, ErrorKind::kOther);
  EXPECT_THAT(engine.error().message, HasSubstr("tokenizer.ggml.tokens: entries 0 and 1 are both"));
}

}  // namespace
}  // namespace octavo
