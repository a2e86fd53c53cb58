// Conversations in the shapes of templates: what is changed, and that texts keep their origin.
#include "chat/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "chat/chat_template.h"
#include "support/memory_source.h"

namespace octavo::test {
namespace {

using testing::HasSubstr;
using System = TemplateCaps::System;

/// "role:text;" of each turn, where each text's runs stand in brackets with their origin; or the error.
std::string shaped(const std::vector<ChatMessage>& messages, const TemplateCaps& caps,
                   const ChatTemplateOptions& options = {}) {
  const auto conversation = shape_conversation(messages, caps, options);
  if (!conversation) return conversation.error().message;
  constexpr std::string_view kOrigins = "tsuom";
  std::string out;
  for (const ShapedMessage& turn : conversation->turns) {
    out += turn.role;
    for (const ShapedPart& part : turn.parts) {
      out += part.is_picture ? ":#" : ":";
      for (const jinja::TextRun& run : part.text)
        if (!run.text.empty())
          out += kOrigins[static_cast<std::size_t>(run.origin)] + ("(" + std::string(run.text) + ")");
    }
    for (const ToolCall& call : turn.calls) out += "!" + call.name;
    if (!turn.name.empty()) out += "@" + std::string(turn.name);
    out += ';';
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
  EXPECT_EQ(shaped(messages, {}), "user:u(u);assistant:!f;tool:o(r)@f;system:s(C);");
  const std::vector<ChatMessage> two = {{"user", "u"},   calls({{"1", "f", {}}, {"2", "g", {}}}),
                                        {"system", "C"}, result("r", "2"),
                                        {"system", "D"}, result("q", "1"),
                                        {"user", "v"}};
  EXPECT_EQ(shaped(two, {.takes_parallel = false}),
            "user:u(u);assistant:!f;tool:o(q)@f;assistant:!g;tool:o(r)@g;system:s(C);system:s(D);user:u(v);");
}

TEST(Conversation, TurnsOfOneRoleAreJoinedWhereTheyAreRefused) {
  const std::vector<ChatMessage> messages = {{"user", "u"}, {"user", "v"}, {"assistant", "a"}, {"assistant", "b"}};
  EXPECT_EQ(shaped(messages, {}), "user:u(u);user:u(v);assistant:m(a);assistant:m(b);");
  EXPECT_EQ(shaped(messages, {.takes_repeats = false}), "user:u(u)u(\n\n)u(v);assistant:m(a)m(\n\n)m(b);");
}

TEST(Conversation, PartsStayAListOrAreJoined) {
  const std::vector<ChatMessage> messages = {{.role = "user", .content = {}, .parts = {{.text = "u"}, {.text = "v"}}}};
  EXPECT_EQ(shaped(messages, {}), "user:u(u)u(\n)u(v);");
  EXPECT_EQ(shaped(messages, {.takes_parts = true}), "user:u(u):u(v);");
}

ContentPart text(std::string words) { return {.text = std::move(words)}; }
ContentPart picture() { return {.kind = ContentPart::Kind::kPicture}; }
ChatMessage with_parts(std::string role, std::vector<ContentPart> parts, std::string id = {}) {
  return {.role = std::move(role), .content = {}, .parts = std::move(parts), .tool_call_id = std::move(id)};
}

constexpr PictureMarks kMarks = {.place = "<[#]>", .placeholder = "[#]"};
const TemplateCaps kWithoutPictures{.marks = kMarks};
const TemplateCaps kWithPictures{
    .takes_parts = true, .takes_pictures = true, .takes_result_pictures = true, .marks = kMarks};

TEST(Conversation, PicturesStayInTheirPlaceInAList) {
  const std::vector<ChatMessage> messages = {with_parts("user", {text("u"), picture(), text("v"), picture()}),
                                             {"assistant", "a"},
                                             with_parts("user", {picture()})};
  EXPECT_EQ(shaped(messages, kWithPictures), "user:u(u):#:u(v):#;assistant:m(a);user:#;");
}

TEST(Conversation, MarksOfPicturesStandBeforeTheTextWhereTheTemplateTakesNone) {
  const std::vector<ChatMessage> messages = {with_parts("user", {text("u"), picture(), text("v"), picture()}),
                                             with_parts("assistant", {text("a"), picture()}),
                                             with_parts("user", {picture()})};
  EXPECT_EQ(shaped(messages, kWithoutPictures),
            "user:t(<[#]>)t(<[#]>)u(u)u(\n)u(v);assistant:t(<[#]>)m(a);user:t(<[#]>);");
  TemplateCaps parts = kWithoutPictures;
  parts.takes_parts = true;
  EXPECT_EQ(shaped({messages[0]}, parts), "user:t(<[#]>)t(<[#]>):u(u):u(v);");
}

TEST(Conversation, PicturesOfAnAnswerAreMarks) {
  EXPECT_EQ(shaped({{"user", "u"}, with_parts("assistant", {text("a"), picture()})}, kWithPictures),
            "user:u(u);assistant:t(<[#]>)m(a);");
}

TEST(Conversation, PicturesOfASystemMessageAreTheNextUsers) {
  const std::vector<ChatMessage> messages = {with_parts("system", {text("A"), picture()}), {"user", "u"}};
  EXPECT_EQ(shaped(messages, kWithPictures), "system:s(A);user:#:u(u);");
  EXPECT_EQ(shaped(messages, kWithoutPictures), "system:s(A);user:t(<[#]>)t(\n\n)u(u);");
  EXPECT_EQ(shaped({with_parts("system", {picture()})}, kWithPictures), "user:#;");
  TemplateCaps none = kWithPictures;
  none.system = System::kNone;
  EXPECT_EQ(shaped(messages, none), "user:#:s(A):u(u);");
}

TEST(Conversation, PicturesOfResultsStayWithThem) {
  const std::vector<ChatMessage> messages = {
      {"user", "u"}, calls({{"1", "f", {}}}), with_parts("tool", {picture(), text("r")}, "1")};
  EXPECT_EQ(shaped(messages, kWithPictures), "user:u(u);assistant:!f;tool:#:o(r)@f;");
  EXPECT_EQ(shaped(messages, kWithoutPictures), "user:u(u);assistant:!f;tool:t(<[#]>)o(r)@f;");
  TemplateCaps as_text = kWithPictures;
  as_text.result_role = "";
  EXPECT_EQ(
      shaped(messages, as_text),
      "user:u(u);assistant:!f;user:t(Result)t( of )o(f)t(:\n):#:o(r)t(\n\nGo on: call the next tool, or answer.);");
  EXPECT_EQ(shaped({messages[0], messages[1], with_parts("tool", {picture()}, "1")}, as_text),
            "user:u(u);assistant:!f;user:t(Result)t( of )o(f)t(:\n):#:t(\n\nGo on: call the next tool, or answer.);");
}

TEST(Conversation, PicturesInAnotherOrderThanTheClientsAreRefused) {
  TemplateCaps one_by_one = kWithPictures;
  one_by_one.takes_parallel = false;
  const std::vector<ChatMessage> messages = {{"user", "u"},
                                             calls({{"1", "f", {}}, {"2", "g", {}}}),
                                             with_parts("tool", {picture()}, "2"),
                                             with_parts("tool", {picture()}, "1")};
  EXPECT_THAT(shaped(messages, one_by_one), HasSubstr("messages[3]: found a picture in a tool's result"));
  EXPECT_EQ(shaped(messages, kWithPictures), "user:u(u);assistant:!f!g;tool:#@g;tool:#@f;");
  const std::vector<ChatMessage> late = {
      {"user", "u"}, calls({{"1", "f", {}}}), with_parts("system", {picture()}), with_parts("tool", {picture()}, "1")};
  EXPECT_THAT(shaped(late, kWithPictures), HasSubstr("messages[3]: found a picture in a tool's result"));
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

TemplateCaps without_calls(std::string_view format = "hermes") {
  TemplateCaps caps{.format = find_tool_format(format), .takes_calls = false};
  caps.takes_parallel = caps.format->form.is_repeated;
  return caps;
}

TEST(Conversation, CallsWithoutAFormAreATextOfTheModelsFormat) {
  const std::vector<ChatMessage> messages = {
      {"user", "u"},
      calls({{"1", "f", R"({"a":1})"}, {"2", "g", TemplateDict{{"b", true}}}}, "look"),
      result("r", "2")};
  EXPECT_EQ(
      shaped(messages, without_calls()),
      "user:u(u);assistant:m(look)t(\n)t(<tool_call>\n{\"name\": \")m(f)t(\", \"arguments\": )m({\"a\":1})"
      "t(}\n</tool_call>\n<tool_call>\n{\"name\": \")m(g)t(\", \"arguments\": )m({\"b\": true})t(}\n</tool_call>);"
      "tool:o(r)@g;");
  EXPECT_EQ(shaped({{"user", "u"}, calls({{"1", "f", std::string("{}")}})}, without_calls("granite")),
            "user:u(u);assistant:t(<|tool_call|>[{\"name\": \")m(f)t(\", \"arguments\": )m({})t(}]);");
}

TEST(Conversation, CallsOfAFormatThatHasOneAnAnswerAreTextsOneByOneWithTheirResults) {
  const std::vector<ChatMessage> messages = {
      {"user", "u"}, calls({{"1", "f", {}}, {"2", "g", TemplateDict{}}}, "look"), result("r", "2"), result("q", "1")};
  EXPECT_THAT(shaped({{"user", "u"}, calls({{"1", "f", std::string("[1]")}})}, without_calls("lfm")), HasSubstr("[1]"));
  EXPECT_EQ(
      shaped({{"user", "u"},
              calls({{"1", "f", std::string(" ")}, {"2", "g", TemplateDict{}}}, "look"),
              result("r", "2"),
              result("q", "1")},
             without_calls("described")),
      "user:u(u);assistant:m(look)t(\n)t(<tool_call>\n{\"name\": \")m(f)t(\", \"arguments\": )m({})t(}\n</tool_call>);"
      "tool:o(q)@f;assistant:t(<tool_call>\n{\"name\": \")m(g)t(\", \"arguments\": )m({})t(}\n</tool_call>);"
      "tool:o(r)@g;");
}

TEST(Conversation, ResultsWithoutARoleAreAUsersTextThatAsksToGoOn) {
  const TemplateCaps caps{.result_role = ""};
  const std::vector<ChatMessage> messages = {
      {"user", "u"}, calls({{"1", "f", {}}, {"2", "g", {}}}), result("r", "1"), result("q", "2")};
  EXPECT_EQ(shaped(messages, caps),
            "user:u(u);assistant:!f!g;user:t(Result)t( of )o(f)t(:\n)o(r)o(\n\n)t(Result)t( of )o(g)t(:\n)o(q)"
            "t(\n\nGo on: call the next tool, or answer.);");
  EXPECT_EQ(shaped({result("r", "1"), {"assistant", "a"}}, caps),
            "user:t(Result)t(:\n)o(r)t(\n\nGo on: call the next tool, or answer.);assistant:m(a);");
  // What the user says behind results says how to go on.
  EXPECT_EQ(shaped({result("r", "1"), {"user", "v"}}, caps), "user:t(Result)t(:\n)o(r);user:u(v);");
  EXPECT_EQ(shaped({result("r", "1"), {"user", "v"}}, {.takes_repeats = false, .result_role = ""}),
            "user:t(Result)t(:\n)o(r)o(\n\n)u(v);");
}

/// The description of one tool, in the notation of shaped().
constexpr std::string_view kDescribed =
    "t(# Tools\n\nYou may call these tools:\n\n<tools>\n{\")o(name)t(\": \")o(f<|x|>)t(\"}\n</tools>\n\n"
    "For each tool call, return the tool's name and arguments in this form:\n<tool_call>\n"
    "{\"name\": \"<tool's name>\", \"arguments\": <JSON object of its arguments>}\n</tool_call>)";

TEST(Conversation, ToolsWithoutAPlaceStandBehindTheSystemMessagesAtTheFront) {
  const ChatTemplateOptions options{.tools = TemplateList{TemplateDict{{"name", std::string("f<|x|>")}}}};
  const auto with = [&](const std::vector<ChatMessage>& messages, System system) {
    return shaped(messages, {.system = system, .takes_tools = false, .format = find_tool_format("described")}, options);
  };
  const std::string text(kDescribed);
  EXPECT_EQ(with({{"user", "u"}}, System::kAnywhere), "system:" + text + ";user:u(u);");
  EXPECT_EQ(with(kSystems, System::kSeveral),
            "system:s(A);system:s(B)s(\n\n)" + text + ";user:u(u);assistant:m(a);user:s(C)s(\n\n)u(v);");
  EXPECT_EQ(with(kSystems, System::kOne),
            "system:s(A)s(\n\n)s(B)s(\n\n)" + text + ";user:u(u);assistant:m(a);user:s(C)s(\n\n)u(v);");
  EXPECT_EQ(with({{"system", "A"}, {"user", "u"}, {"user", "v"}}, System::kNone),
            "user:s(A)s(\n\n)" + text + "t(\n\n)u(u);user:u(v);");
  EXPECT_EQ(with({{"user", "u"}}, System::kNone), "user:" + text + "t(\n\n)u(u);");
  EXPECT_EQ(with({{"system", "A"}}, System::kOne), "system:s(A)s(\n\n)" + text + ";");
  const TemplateCaps lists{.takes_text = false, .takes_tools = false, .format = find_tool_format("described")};
  EXPECT_EQ(shaped({{"system", "A"}, {"user", "u"}}, lists, options), "system:s(A):" + text + ";user:u(u);");
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
  EXPECT_EQ(called(std::string(R"({"a": "cut)")), R"([user]u[assistant]1=f{"arguments": "{\"a\": \"cut"})");
  EXPECT_EQ(called(std::string("[1]")), R"([user]u[assistant]1=f{"arguments": "[1]"})");
  std::string many = "{\"a\": [1";
  for (int i = 0; i < (1 << 17); ++i) many += ",1";
  EXPECT_THAT(called(many + "]}"), HasSubstr(R"({"arguments": "{\"a\": [1,1)"));
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

TEST(Conversation, ToolsWithoutAPlaceAreLeftOutWhereTheyAreNotToBeDescribed) {
  const TemplateList tools = {TemplateDict{{"type", std::string("function")}}};
  EXPECT_THAT(prompt("{{ messages[0].content }}", {{"user", "u"}}, {.tools = tools}),
              HasSubstr("{\"type\": \"function\"}"));
  EXPECT_EQ(prompt("{{ messages[0].content }}", {{"user", "u"}}, {.tools = tools, .describe_tools = false}), "u");
  EXPECT_EQ(prompt("{{ messages[0].content }}", {{"user", "u"}}, {.tools = TemplateList()}), "u");
}

TEST(Conversation, ToolsAreGivenUnderTheNameThatTheTemplateReads) {
  const TemplateList tools = {
      TemplateDict{{"type", std::string("function")},
                   {"function", TemplateDict{{"name", std::string("f")}, {"description", std::string("d")}}}}};
  for (const std::string name : {"xml_tools", "python_tools"}) {
    const std::string source =
        "{{ tools is none }}{% for t in " + name + " %}{{ t | string }}{% endfor %}{{ messages[0].content }}";
    EXPECT_EQ(prompt(source, {{"user", "u"}}, {.tools = tools}),
              "True{'type': 'function', 'function': {'name': 'f', 'description': 'd'}}u");
  }
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
