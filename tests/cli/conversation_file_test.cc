#include "cli/chat/conversation_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fake_engine.h"
#include "support/temp_file.h"
#include "support/temp_folder.h"

namespace octavo::cli {
namespace {

using testing::HasSubstr;

std::string refusal_of(const std::string& text) {
  const auto saved = parse_conversation(text);
  return saved ? "" : saved.error().message;
}

TEST(ConversationFile, WhatIsSavedIsLoaded) {
  test::FakeEngineState state;
  state.info.num_tokens = 256;
  const test::FakeEngine engine(state);
  Conversation conversation(engine.text());
  conversation.set_system("Be \"brief\".\n");
  PictureInput picture{.bytes = std::make_shared<const std::string>("\x89PNG")};
  conversation.ask("What?\nWho?", {picture});
  conversation.set_answer("Hi", std::vector<TokenId>{'H', 'i'});
  conversation.ask("More");
  conversation.set_answer("text only", std::nullopt, "thought");
  const test::TempFile file("", ".json");
  std::filesystem::remove(file.string());
  ASSERT_TRUE(save_conversation(file.string(), conversation, "model"));
  ASSERT_TRUE(save_conversation(file.string(), conversation, "model"));  // in place of itself
  const auto loaded = load_conversation(file.string(), *engine.text());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->system, "Be \"brief\".\n");
  ASSERT_EQ(loaded->turns.size(), 2U);
  EXPECT_EQ(loaded->turns[0].question, "What?\nWho?");
  ASSERT_EQ(loaded->turns[0].pictures.size(), 1U);
  EXPECT_EQ(*loaded->turns[0].pictures[0].bytes, "\x89PNG");
  EXPECT_EQ(loaded->turns[0].answer, "Hi");
  EXPECT_EQ(loaded->turns[0].drawn, (std::vector<TokenId>{'H', 'i'}));
  EXPECT_EQ(loaded->turns[1].answer, "text only");
  EXPECT_EQ(loaded->turns[1].reasoning, "thought");
  EXPECT_FALSE(loaded->turns[1].drawn);
}

TEST(ConversationFile, TokensThatDoNotSpellTheirAnswerAreLeftOut) {
  test::FakeEngineState state;
  state.info.num_tokens = 256;
  const test::FakeEngine engine(state);
  for (const std::string tokens : {"[72,111]", "[72,70000]", "[]"}) {
    const test::TempFile file(R"({"octavo_conversation":1,"messages":[{"role":"user","content":"a"},)"
                              R"({"role":"assistant","content":"Hi","tokens":)" +
                                  tokens + "}]}",
                              ".json");
    const auto loaded = load_conversation(file.string(), *engine.text());
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->turns[0].answer, "Hi");
    EXPECT_FALSE(loaded->turns[0].drawn) << tokens;
  }
}

TEST(ConversationFile, AnotherFileIsNotReplaced) {
  test::FakeEngineState state;
  const test::FakeEngine engine(state);
  const Conversation conversation(engine.text());
  const test::TempFile file("my thesis", ".json");
  const auto saved = save_conversation(file.string(), conversation, "m");
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, HasSubstr("has no saved conversation"));
  EXPECT_FALSE(save_conversation("/", conversation, "m"));
  EXPECT_FALSE(save_conversation("/no such folder/x.json", conversation, "m"));
}

TEST(ConversationFile, NoFileBesideItIsTouched) {
  test::FakeEngineState state;
  const test::FakeEngine engine(state);
  const Conversation conversation(engine.text());
  const test::TempFolder folder;
  const std::filesystem::path precious = folder.write("precious", "precious"), path = folder.path() / "talk.json";
  std::filesystem::create_symlink(precious, folder.path() / "talk.json.part");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(save_conversation(path, conversation, "m"));
    std::filesystem::permissions(path, std::filesystem::perms(0600));
  }
  EXPECT_EQ(std::filesystem::file_size(precious), 8U);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "talk.json.part"));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  EXPECT_TRUE(load_conversation(path, *engine.text()));
}

TEST(ConversationFile, ErrorsNameTheFieldAndWhatWasFound) {
  const auto with_messages = [](const std::string& messages) {
    return R"({"octavo_conversation":1,"messages":)" + messages + "}";
  };
  EXPECT_THAT(refusal_of("{"), HasSubstr("no JSON"));
  EXPECT_THAT(refusal_of("{}"), HasSubstr("found no field octavo_conversation"));
  EXPECT_THAT(refusal_of(R"({"octavo_conversation":2})"), HasSubstr("found the number 2"));
  EXPECT_THAT(refusal_of(R"({"octavo_conversation":1})"), HasSubstr("messages: found none"));
  EXPECT_THAT(refusal_of(with_messages("[3]")), HasSubstr("messages[0]: found the number 3"));
  EXPECT_THAT(refusal_of(with_messages(R"([{"role":"assistant","content":""}])")),
              HasSubstr("messages[0].role: found the string \"assistant\", expected user"));
  EXPECT_THAT(refusal_of(with_messages(R"([{"role":"user"}])")), HasSubstr("messages[0].content: found none"));
  EXPECT_THAT(refusal_of(with_messages(R"([{"role":"user","content":"a"}])")), HasSubstr("expected its answer"));
  EXPECT_THAT(refusal_of(with_messages(R"([{"role":"user","content":"a"},{"role":"system","content":"a"}])")),
              HasSubstr("messages[1].role: found the string \"system\", expected assistant"));
  EXPECT_THAT(refusal_of(with_messages(
                  R"([{"role":"user","content":"a"},{"role":"assistant","content":"a","tokens":[1,-2]}])")),
              HasSubstr("messages[1].tokens[1]: found the number -2"));
  EXPECT_THAT(
      refusal_of(with_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":"a","tokens":7}])")),
      HasSubstr("messages[1].tokens: found the number 7"));
  EXPECT_EQ(refusal_of(with_messages("[]")), "");
}

TEST(ConversationFile, MessagesAndDepthAreBounded) {
  std::string many = R"({"octavo_conversation":1,"messages":[0)";
  for (std::size_t i = 0; i < kMaxConversationMessages; ++i) many += ",0";
  EXPECT_THAT(refusal_of(many + "]}"), HasSubstr("expected an array of at most 2000 messages"));
  EXPECT_THAT(refusal_of(R"({"octavo_conversation":1,"messages":[[[[[]]]]]})"), HasSubstr("nested deeper than"));
}

}  // namespace
}  // namespace octavo::cli
