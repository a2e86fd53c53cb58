// Conversations whose turns come in an order that some templates refuse: the prompts of those, and that no template of
// the test data refuses one or loses a word of it.
#include "chat/turn_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "chat/chat_template.h"
#include "support/memory_source.h"

namespace octavo::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path templates() {
  const char* folder = std::getenv("OCTAVO_TEST_DATA");
  return fs::path(folder == nullptr ? "" : folder) / "templates";
}

ChatTemplate load(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string source{std::istreambuf_iterator<char>(in), {}};
  auto loaded = ChatTemplate::load(MemorySource(), source);
  EXPECT_TRUE(loaded) << file << ": " << loaded.error().message;
  return std::move(*loaded);
}

/// The text of the turn of that number, which no template changes.
std::string word(std::size_t index) { return fmt::format("Q{}q", static_cast<char>('a' + index)); }

ChatMessage calling(std::size_t index, std::string text = {}) {
  ChatMessage turn{.role = "assistant", .content = std::move(text)};
  turn.tool_calls.push_back({.id = fmt::format("abcdefgh{}", index),
                             .name = "look",
                             .arguments = TemplateDict{{"at", TemplateValue(word(index))}}});
  return turn;
}

/// A letter a turn: a user, an assistant, one that says nothing (e), one that calls (c) and says something, too (C),
/// the result of the last call, a system message.
std::vector<ChatMessage> conversation(std::string_view order) {
  std::vector<ChatMessage> messages;
  std::string last_call = "abcdefgh0";
  for (std::size_t i = 0; i < order.size(); ++i) {
    switch (order[i]) {
      case 'a': messages.push_back({"assistant", word(i)}); break;
      case 'e': messages.push_back({"assistant", ""}); break;
      case 'c':
      case 'C':
        messages.push_back(calling(i, order[i] == 'C' ? "I look." : ""));
        last_call = messages.back().tool_calls[0].id;
        break;
      case 'r': messages.push_back({.role = "tool", .content = word(i), .tool_call_id = last_call}); break;
      case 's': messages.push_back({"system", word(i)}); break;
      default: messages.push_back({"user", word(i)});
    }
  }
  return messages;
}

TemplateValue tools() {
  const auto text = [](std::string_view value) { return TemplateValue(std::string(value)); };
  const TemplateDict at = {{"type", text("string")}, {"description", text("Where.")}};
  const TemplateDict parameters = {{"type", text("object")}, {"properties", TemplateDict{{"at", at}}}};
  const TemplateDict function = {{"name", text("look")}, {"description", text("Looks.")}, {"parameters", parameters}};
  return TemplateList{TemplateDict{{"type", text("function")}, {"function", function}}};
}

std::string prompt_of(const ChatTemplate& chat_template, std::string_view order,
                      const ChatTemplateOptions& options = {}) {
  const auto parts = chat_template.render(conversation(order), {.bos = "<s>", .eos = "</s>"}, options, std::tm{});
  if (!parts) return parts.error().message;
  std::string text;
  for (const PromptPart& part : *parts) text += part.text;
  return text;
}

/// "role:words" of each turn.
std::string mended(std::string_view order, const TemplateCaps& caps) {
  const std::vector<ChatMessage> messages = conversation(order);
  const auto shaped = shape_conversation(messages, caps, {});
  if (!shaped) return shaped.error().message;
  std::string out;
  for (const ShapedMessage& turn : shaped->turns) {
    out += out.empty() ? "" : " ";
    out += turn.role.substr(0, 1);
    out += ':';
    for (const ShapedPart& part : turn.parts)
      for (const jinja::TextRun& run : part.text) out += run.text;
    for (const ToolCall& call : turn.calls) out += "!" + call.id.substr(8);
  }
  return out;
}

TEST(TurnOrder, ATurnWithoutATextStandsWhereOneIsMissing) {
  const TemplateCaps skips{.takes_repeats = false, .takes_turns = true, .counts_calls = false, .counts_results = false};
  EXPECT_EQ(mended("ucru", skips), "u:Qaq a:!1 t:Qcq a: u:Qdq");
  EXPECT_EQ(mended("ucu", skips), "u:Qaq a:!1 a: u:Qcq");
  EXPECT_EQ(mended("au", skips), "u: a:Qaq u:Qbq");
  EXPECT_EQ(mended("ucra", skips), "u:Qaq a:!1 t:Qcq a:Qdq");
  EXPECT_EQ(mended("uuaau", skips), "u:Qaq\n\nQbq a:Qcq\n\nQdq u:Qeq");
  const TemplateCaps all{.takes_repeats = false, .takes_turns = true};
  EXPECT_EQ(mended("ucru", all), "u:Qaq a:!1 t:Qcq a: u:Qdq");
  EXPECT_EQ(mended("ucra", all), "u:Qaq a:!1 t:Qcq a:Qdq");
  EXPECT_EQ(mended("uca", all), "u:Qaq a:!1 u: a:Qcq");
  const TemplateCaps calls{.takes_repeats = false, .takes_turns = true, .counts_results = false};
  EXPECT_EQ(mended("ucru", calls), "u:Qaq a:!1 t:Qcq u:Qdq");
  EXPECT_EQ(mended("ucru", {}), "u:Qaq a:!1 t:Qcq u:Qdq");
}

TEST(TurnOrder, AnAnswerIsOneWithTheCallsBehindIt) {
  const TemplateCaps caps{.takes_repeats = false, .takes_turns = true, .counts_calls = false, .counts_results = false};
  EXPECT_EQ(mended("uacrau", caps), "u:Qaq a:Qbq!2 t:Qdq a:Qeq u:Qfq");
  EXPECT_EQ(mended("uacra", {.takes_repeats = false,
                             .takes_turns = true,
                             .counts_calls = false,
                             .counts_results = false,
                             .calls_alone = true}),
            "u:Qaq a:Qbq a:!2 t:Qdq u: a:Qeq");
  EXPECT_EQ(mended("uac", {}), "u:Qaq a:Qbq a:!2");
}

TEST(TurnOrder, OfJoinedAnswersNoReasoningIsLost) {
  std::vector<ChatMessage> messages = conversation("uaaa");
  for (std::size_t i = 1; i < messages.size(); ++i) messages[i].reasoning = fmt::format("r{}", i);
  const auto shaped = shape_conversation(messages, {.takes_repeats = false}, {});
  ASSERT_TRUE(shaped && shaped->turns.size() == 2);
  EXPECT_EQ(shaped->turns[1].reasoning, "r1\n\nr2\n\nr3");
}

TEST(TurnOrder, AnAnswerThatSaysNothingHasTheLeastTextThatIsTaken) {
  const TemplateCaps caps{.least_answer = "."};
  EXPECT_EQ(mended("ueu", caps), "u:Qaq a:. u:Qcq");
  EXPECT_EQ(mended("uc", caps), "u:Qaq a:!1");
  const std::vector<ChatMessage> messages = conversation("ue");
  const auto goes_on =
      shape_conversation(messages, caps, {.add_generation_prompt = false, .continue_final_message = true});
  EXPECT_FALSE(goes_on->turns.back().has_content());
}

TEST(TurnOrder, AResultWithoutItsCallIsAUsersTextWhereTheTemplateRefusesIt) {
  const TemplateCaps caps{.takes_lone_result = false};
  EXPECT_EQ(mended("ur", caps), "u:Qaq u:Result:\nQbq\n\nGo on: call the next tool, or answer.");
  EXPECT_EQ(mended("ucrr", caps), "u:Qaq a:!1 t:Qcq t:Qdq");
  EXPECT_EQ(mended("ucsr", caps), "u:Qaq a:!1 t:Qdq s:Qcq");
  EXPECT_EQ(mended("ur", {}), "u:Qaq t:Qbq");
}

// The orders that Mistral's templates refuse: users and assistants must take turns, and neither calls nor results
// count.
TEST(TurnOrder, MistralsTemplatesTakeAUserBehindAResult) {
  const ChatTemplate ministral = load(templates() / "mistralai-Ministral-3-14B-Reasoning-2512.jinja");
  EXPECT_THAT(prompt_of(ministral, "ucru"),
              HasSubstr("[INST]Qaq[/INST][TOOL_CALLS]look[ARGS]{\"at\": \"Qbq\"}</s>[TOOL_RESULTS]Qcq[/TOOL_RESULTS]"
                        " </s>[INST]Qdq[/INST]"));
  EXPECT_THAT(prompt_of(ministral, "uacra"),
              HasSubstr("[INST]Qaq[/INST]Qbq[TOOL_CALLS]look[ARGS]{\"at\": \"Qcq\"}</s>[TOOL_RESULTS]Qdq"
                        "[/TOOL_RESULTS]Qeq</s>"));
  const ChatTemplate small = load(templates() / "Mistral-Small-3.2-24B-Instruct-2506.jinja");
  EXPECT_THAT(prompt_of(small, "ucru"), HasSubstr("Qcq[/TOOL_RESULTS]</s>[INST]Qdq[/INST]"));
  const ChatTemplate nemo = load(templates() / "mistralai-Mistral-Nemo-Instruct-2407.jinja");
  EXPECT_THAT(prompt_of(nemo, "ucu"), HasSubstr("\"id\": \"abcdefgh1\"}]</s></s>[INST]Qcq[/INST]"));
  EXPECT_THAT(prompt_of(nemo, "uCr"), HasSubstr("[INST]Qaq[/INST]I look.</s>[TOOL_CALLS]"));
  const ChatTemplate gemma = load(templates() / "google-gemma-2-2b-it.jinja");
  EXPECT_THAT(prompt_of(gemma, "au"), HasSubstr("<start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\nQaq<end"));
}

/// Words that the prompt lacks, or that stand behind a later one's; a system message may stand anywhere.
std::string problem_of(const std::string& prompt, std::string_view order) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == 'e') continue;
    const std::size_t place = prompt.find(word(i));
    if (place == std::string::npos) return fmt::format("turn {} of {} is missing in {}", i, order, prompt);
    if (order[i] == 's') continue;
    if (place < last) return fmt::format("turn {} of {} is moved in {}", i, order, prompt);
    last = place;
  }
  if (order.contains('C') && !prompt.contains("I look.")) return fmt::format("{} lacks the text beside a call", order);
  return {};
}

constexpr std::string_view kOrders[] = {"uu",    "uuaau",  "au",    "a",     "acr",    "acru",    "r",      "uru",
                                        "ucru",  "ucu",    "ucur",  "uca",   "uacrau", "uCrCrau", "ucrsu",  "usau",
                                        "ueu",   "ueeu",   "uuu",   "uccu",  "uccrr",  "ucrucru", "suasu",  "ucsru",
                                        "ucraa", "ucrcru", "ucrau", "ucruu", "uarr",   "s",       "sasusu", "ue"};

TEST(TurnOrder, NoTemplateOfTheTestDataRefusesAnOrderOrLosesAWord) {
  std::size_t num_templates = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(templates())) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() != ".jinja" || name.contains("firefunction")) continue;  // wants names of its own
    const ChatTemplate chat_template = load(entry.path());
    ++num_templates;
    for (const std::string_view order : kOrders) {
      EXPECT_EQ(problem_of(prompt_of(chat_template, order), order), "") << name;
      EXPECT_EQ(problem_of(prompt_of(chat_template, order, {.tools = tools()}), order), "") << name << " with tools";
    }
  }
  EXPECT_GT(num_templates, 60U);
}

/// A template whose users and assistants take turns: which messages are counted, whose turn each is, and what is
/// written of a content.
std::string in_turns(const std::string& counts, const std::string& users, const std::string& content = "m.content") {
  return "{% if messages[0].role == 'system' %}{{ messages[0].content }}{% set turns = messages[1:] %}{% else %}"
         "{% set turns = messages %}{% endif %}{% set ns = namespace(count=0) %}{% for m in turns %}"
         "{% if m.role not in ['user', 'assistant', 'tool'] %}{{ raise_exception('role') }}{% endif %}{% if " +
         counts + " %}{% if (m.role in " + users +
         ") != (ns.count % 2 == 0) %}{{ raise_exception('turns') }}{% endif %}{% set ns.count = ns.count + 1 %}"
         "{% endif %}<{{ m.role }}>{{ " +
         content + " }}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}{% endfor %}{{ tools }}";
}

TEST(TurnOrder, NoMannerOfTakingTurnsRefusesAnOrderOrLosesAWord) {
  const std::string all = "true", chat = "m.role != 'tool'", texts = chat + " and not m.tool_calls";
  const std::vector<std::string> sources = {
      in_turns(all, "['user', 'tool']"),
      in_turns(chat, "['user']"),
      in_turns(texts, "['user']"),
      in_turns(all, "['user']"),  // a tool's result would be an assistant's, as in Llama 2's
      in_turns(texts, "['user']", "m.content if not m.tool_calls else ''"),
      in_turns(texts, "['user']", "m.content | map(attribute='text') | join")};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto chat_template = ChatTemplate::load(MemorySource(), sources[i]);
    ASSERT_TRUE(chat_template) << chat_template.error().message;
    EXPECT_TRUE(chat_template->caps().takes_turns) << i;
    for (const std::string_view order : kOrders)
      EXPECT_EQ(problem_of(prompt_of(*chat_template, order), order), "") << "manner " << i;
  }
}

}  // namespace
}  // namespace octavo::test
