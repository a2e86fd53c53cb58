// Conversations in the shapes of templates: what is changed, and that texts keep their origin.
#include "tokenizer/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/memory_source.h"
#include "tokenizer/chat_template.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;
using System = TemplateManners::System;

/// "role:text;" of each turn, where each text's runs stand in brackets with their origin; or the error.
std::string shaped(const std::vector<ChatMessage>& messages, const TemplateManners& manners) {
  const auto turns = shape_conversation(messages, manners);
  if (!turns) return turns.error().message;
  constexpr std::string_view kOrigins = "tsuom";
  std::string out;
  for (const ShapedMessage& turn : *turns) {
    out += turn.role;
    for (const TextRuns& text : turn.texts) {
      out += ":";
      for (const jinja::TextRun& run : text)
        if (!run.text.empty())
          out += kOrigins[static_cast<std::size_t>(run.origin)] + ("(" + std::string(run.text) + ")");
    }
    for (const ToolCall& call : turn.calls) out += "!" + call.name;
    if (!turn.name.empty()) out += "@" + std::string(turn.name);
    out += ";";
  }
  return out;
}

ChatMessage calls(std::vector<ToolCall> made, std::string content = {}) {
  return {.role = "assistant", .content = std::move(content), .tool_calls = std::move(made)};
}

ChatMessage result(std::string text, std::string id) {
  return {.role = "tool", .content = std::move(text), .tool_call_id = std::move(id)};
}

const std::vector<ChatMessage> kSystems = {{"system", "A"},    {"developer", "B"}, {"user", "u"},
                                           {"assistant", "a"}, {"system", "C"},    {"user", "v"}};

TEST(Conversation, SystemMessagesStayWhereTheTemplateTakesThem) {
  EXPECT_EQ(shaped(kSystems, {.system = System::kAnywhere}),
            "system:s(A);system:s(B);user:u(u);assistant:m(a);system:s(C);user:u(v);");
  EXPECT_EQ(shaped(kSystems, {.system = System::kSeveral}),
            "system:s(A);system:s(B);user:u(u);assistant:m(a);user:s(C)s(\n\n)u(v);");
  EXPECT_EQ(shaped(kSystems, {.system = System::kOne}),
            "system:s(A)s(\n\n)s(B);user:u(u);assistant:m(a);user:s(C)s(\n\n)u(v);");
  EXPECT_EQ(shaped(kSystems, {.system = System::kNone}),
            "user:s(A)s(\n\n)s(B)s(\n\n)u(u);assistant:m(a);user:s(C)s(\n\n)u(v);");
}

TEST(Conversation, ASystemMessageThatNoUserFollowsIsATurnOfItsOwn) {
  const std::vector<ChatMessage> messages = {{"user", "u"}, {"assistant", "a"}, {"system", "C"}};
  EXPECT_EQ(shaped(messages, {.system = System::kOne}), "user:u(u);assistant:m(a);user:s(C);");
  EXPECT_EQ(shaped({{"system", "A"}}, {.system = System::kOne}), "system:s(A);");
  EXPECT_EQ(shaped({{"system", "A"}}, {.system = System::kOne, .system_alone = false}), "user:s(A);");
}

TEST(Conversation, ASystemMessageDoesNotPartCallsFromTheirResults) {
  const std::vector<ChatMessage> messages = {{"user", "u"}, calls({{"1", "f", {}}}), {"system", "C"}, result("r", "1")};
  EXPECT_EQ(shaped(messages, {.system = System::kOne}), "user:u(u);assistant:!f;tool:o(r)@f;user:s(C);");
}

TEST(Conversation, TurnsOfOneRoleAreJoinedWhereTheyAreRefused) {
  const std::vector<ChatMessage> messages = {{"user", "u"}, {"user", "v"}, {"assistant", "a"}, {"assistant", "b"}};
  EXPECT_EQ(shaped(messages, {}), "user:u(u);user:u(v);assistant:m(a);assistant:m(b);");
  EXPECT_EQ(shaped(messages, {.takes_repeats = false}), "user:u(u)u(\n\n)u(v);assistant:m(a)m(\n\n)m(b);");
}

TEST(Conversation, PartsStayAListOrAreJoined) {
  const std::vector<ChatMessage> messages = {{.role = "user", .content = {}, .parts = {"u", "v"}}};
  EXPECT_EQ(shaped(messages, {}), "user:u(u)u(\n)u(v);");
  EXPECT_EQ(shaped(messages, {.takes_parts = true}), "user:u(u):u(v);");
}

TEST(Conversation, ParallelCallsAreWrittenOneByOneWithTheirResults) {
  const std::vector<ChatMessage> messages = {{"user", "u"},
                                             calls({{"1", "f", {}}, {"2", "g", {}}}, "look"),
                                             result("r", "2"),
                                             result("q", "1"),
                                             {"user", "v"}};
  EXPECT_EQ(shaped(messages, {}), "user:u(u);assistant:m(look)!f!g;tool:o(r)@g;tool:o(q)@f;user:u(v);");
  EXPECT_EQ(shaped(messages, {.takes_parallel = false}),
            "user:u(u);assistant:m(look)!f;tool:o(q)@f;assistant:!g;tool:o(r)@g;user:u(v);");
}

TEST(Conversation, TextBesideCallsHasAMessageOfItsOwnWhereItMust) {
  EXPECT_EQ(shaped({{"user", "u"}, calls({{"1", "f", {}}}, "look")}, {.calls_alone = true}),
            "user:u(u);assistant:m(look);assistant:!f;");
}

TEST(Conversation, CallsAndResultsWithoutAFormAreErrorsInTheTemplatesWords) {
  EXPECT_THAT(shaped({{"user", "u"}, calls({{"1", "f", {}}})}, {.takes_calls = false, .calls_refusal = "no tools!"}),
              testing::AllOf(HasSubstr("messages[1]"), HasSubstr("calls of tools"), HasSubstr("no tools!")));
  EXPECT_THAT(shaped({result("r", "1")}, {.result_role = ""}),
              testing::AllOf(HasSubstr("messages[0]"), HasSubstr("tool's result")));
}

/// The prompt, or the error.
std::string prompt(std::string_view source, const std::vector<ChatMessage>& messages,
                   const ChatTemplateOptions& options = {}) {
  const auto chat_template = ChatTemplate::load(MemorySource(), source);
  EXPECT_TRUE(chat_template);
  const auto parts = chat_template->render(messages, {}, options, std::tm{});
  if (!parts) return parts.error().message;
  std::string text;
  for (const PromptPart& part : *parts) text += part.text;
  return text;
}

constexpr std::string_view kCalls =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls %}{{ c.id }}={{ c.function.name }}"
    "{{ c.function.arguments | tojson }}{% endfor %}{{ m.tool_call_id }}{% endfor %}";

TEST(Conversation, ArgumentsBecomeWhatTheTemplateReads) {
  const auto called = [](TemplateValue arguments) {
    return prompt(kCalls, {{"user", "u"}, calls({{"1", "f", std::move(arguments)}})});
  };
  EXPECT_EQ(called(std::string(R"({"a":[1]})")), R"([user]u[assistant]1=f{"a": [1]})");
  EXPECT_EQ(called(std::string(" ")), "[user]u[assistant]1=f{}");
  EXPECT_EQ(called(TemplateDict{{"b", true}}), R"([user]u[assistant]1=f{"b": true})");
  EXPECT_THAT(called(std::string("{a}")), HasSubstr("expected an object in JSON"));
  std::string many = "{\"a\": [1";
  for (int i = 0; i < (1 << 17); ++i) many += ",1";
  EXPECT_THAT(called(many + "]}"), HasSubstr("more values"));
}

TEST(Conversation, IdsAreShortWhereTheTemplateTakesNoOthers) {
  const std::string mistral =
      "{% for m in messages %}{% for c in m.tool_calls %}{% if c.id | length != 9 %}"
      "{{ raise_exception('nine!') }}{% endif %}{% endfor %}{% endfor %}" +
      std::string(kCalls);
  EXPECT_EQ(prompt(mistral, {{"user", "u"}, calls({{"call_AbC-12", "f", TemplateDict{}}}), result("r", "call_AbC-12")}),
            "[user]u[assistant]callAbC12=f{}[tool]rcallAbC12");
  EXPECT_EQ(prompt(mistral, {{"user", "u"}, calls({{"1", "f", TemplateDict{}}}), result("r", "1")}),
            "[user]u[assistant]000000001=f{}[tool]r000000001");
}

TEST(Conversation, ToolsWithoutAPlaceAreAnErrorUnlessTheyMayBeLeftOut) {
  const TemplateList tools = {TemplateDict{{"type", std::string("function")}}};
  EXPECT_THAT(prompt("{{ messages[0].content }}", {{"user", "u"}}, {.tools = tools}), HasSubstr("no place"));
  EXPECT_EQ(prompt("{{ messages[0].content }}", {{"user", "u"}}, {.tools = tools, .require_tools = false}), "u");
}

TEST(Conversation, ThePromptEndsWithTheLastMessageThatIsContinued) {
  const ChatTemplateOptions options{.add_generation_prompt = false, .continue_final_message = true};
  const std::vector<ChatMessage> messages = {{"user", "u"}, {"assistant", " a "}};
  EXPECT_EQ(prompt("{% for m in messages %}<{{ m.content }}>{% endfor %}", messages, options), "<u>< a ");
  EXPECT_EQ(prompt("{% for m in messages %}<{{ m.content | trim }}>{% endfor %}", messages, options), "<u><a");
  EXPECT_THAT(prompt("{{ messages[0].content }}", messages, options), HasSubstr("cannot be continued"));
  EXPECT_THAT(prompt("{{ messages[0].content }}", messages, {.continue_final_message = true}),
              HasSubstr("expected one of them"));
}

}  // namespace
}  // namespace octavo::test
