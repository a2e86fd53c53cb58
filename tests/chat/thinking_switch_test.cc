// The switch of a chat template, found by rendering, and what is said by one name in the words of another.
#include "chat/thinking_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "chat/chat_template.h"
#include "support/memory_source.h"

namespace octavo::test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kMessages = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";

ChatTemplate loaded(std::string_view source) {
  auto made = ChatTemplate::load(MemorySource(), source);
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

std::string rendered(const ChatTemplate& chat_template, const TemplateDict& names,
                     const std::vector<ChatMessage>& messages = {{"user", "Hi"}}) {
  std::tm now{};
  now.tm_mday = 9;
  now.tm_year = 125;
  const auto parts = chat_template.render(messages, {.bos = "<s>", .eos = "</s>"}, {.names = names}, now);
  if (!parts) return parts.error().message;
  std::string text;
  for (const PromptPart& part : *parts) text += part.text;
  return text;
}

std::string name_of(const std::string& end) { return std::string(loaded(kMessages + end).thinking().name()); }

TEST(ThinkingSwitch, IsTheNameThatChangesThePrompt) {
  EXPECT_EQ(name_of("{% if enable_thinking %}<think>{% endif %}"), "enable_thinking");
  EXPECT_EQ(name_of("{% if thinking %}<think>{% endif %}"), "thinking");
  EXPECT_EQ(name_of("{% if reasoning is false %}</think>{% endif %}"), "reasoning");
  EXPECT_EQ(name_of("{% if thinking_mode == 'disabled' %}</think>{% endif %}"), "thinking_mode");
  EXPECT_EQ(name_of("{% if thinking_mode == 'chat' %}</think>{% endif %}"), "thinking_mode");
  EXPECT_EQ(name_of("{% if thinking_budget == 0 %}</think>{% endif %}"), "thinking_budget");
  EXPECT_EQ(name_of("{% if reasoning_effort == 'none' %}</think>{% endif %}"), "reasoning_effort");
  EXPECT_EQ(name_of("{# enable_thinking, thinking #}<think>"), "");
  EXPECT_EQ(name_of("{{ reasoning_effort }}"), "");  // any value is written
}

TEST(ThinkingSwitch, SaidByOneNameIsReadByAnother) {
  const ChatTemplate flag = loaded(kMessages + "{% if thinking is not defined or thinking %}<think>{% endif %}");
  for (const TemplateDict& off :
       {TemplateDict{{"enable_thinking", false}}, TemplateDict{{"thinking", false}},
        TemplateDict{{"reasoning_effort", std::string("none")}}, TemplateDict{{"thinking_budget", std::int64_t{0}}},
        TemplateDict{{"enable_thinking", false}, {"thinking", true}}})
    EXPECT_THAT(rendered(flag, off), EndsWith("Hi"));
  for (const TemplateDict& on : {TemplateDict(), TemplateDict{{"enable_thinking", true}, {"thinking", false}},
                                 TemplateDict{{"reasoning_effort", std::string("high")}}})
    EXPECT_THAT(rendered(flag, on), EndsWith("<think>"));
  const ChatTemplate mode = loaded(kMessages + "{{ '</think>' if thinking_mode == 'disabled' else thinking_mode }}");
  EXPECT_THAT(rendered(mode, {{"enable_thinking", false}}), EndsWith("</think>"));
  EXPECT_THAT(rendered(mode, {{"enable_thinking", true}}), EndsWith("enabled"));
  EXPECT_THAT(rendered(mode, {{"thinking_mode", std::string("adaptive")}}), EndsWith("adaptive"));
}

TEST(ThinkingSwitch, AWordInTheSystemMessageIsWrittenThere) {
  const ChatTemplate word = loaded(
      "{% set ns = namespace(on=true) %}{% for m in messages %}{% if '/no_think' in m.content %}{% set ns.on = false %}"
      "{% endif %}[{{ m.role }}]{{ m.content | replace('/no_think', '') | replace('/think', '') }}{% endfor %}"
      "{{ '<think>' if ns.on else '<think></think>' }}");
  EXPECT_EQ(word.thinking().name(), "/no_think");
  EXPECT_EQ(rendered(word, {{"enable_thinking", false}}), "[system][user]Hi<think></think>");
  EXPECT_EQ(rendered(word, {{"enable_thinking", false}}, {{"system", "S"}, {"user", "Hi"}}),
            "[system]S\n[user]Hi<think></think>");
  EXPECT_EQ(rendered(word, {}), "[user]Hi<think>");
  EXPECT_EQ(name_of("{# /no_think #}"), "");
}

TEST(ThinkingSwitch, LevelsAreThoseThatTheTemplateTakes) {
  const ChatTemplate any = loaded(kMessages + "{{ reasoning_effort }}");
  EXPECT_THAT(any.thinking().efforts(), testing::Contains("medium"));
  const ChatTemplate none = loaded(kMessages + "{# reasoning_effort #}");
  EXPECT_THAT(none.thinking().efforts(), IsEmpty());
  const ChatTemplate some = loaded(kMessages +
                                   "{% if thinking_effort is defined and thinking_effort not in ['low', 'high'] %}"
                                   "{{ raise_exception('no level') }}{% endif %}{{ thinking_effort }}");
  EXPECT_THAT(some.thinking().efforts(), ElementsAre("low", "high"));
  EXPECT_THAT(rendered(some, {{"reasoning_effort", std::string("high")}}), EndsWith("high"));
  EXPECT_THAT(rendered(some, {{"reasoning_effort", std::string("medium")}}), EndsWith("Hi"));
  const ChatTemplate strict =
      loaded(kMessages +
             "{% if reasoning_effort is defined and reasoning_effort not in ['no_think', 'high'] %}"
             "{{ raise_exception('no level') }}{% endif %}{{ '<think>' if reasoning_effort == 'high' }}");
  EXPECT_THAT(rendered(strict, {{"reasoning_effort", std::string("medium")}}), EndsWith("Hi"));
  EXPECT_THAT(rendered(strict, {{"reasoning_effort", std::string("none")}}), EndsWith("Hi"));
  EXPECT_THAT(rendered(strict, {{"reasoning_effort", std::string("high")}}), EndsWith("<think>"));
}

TEST(ThinkingSwitch, ATemplateThatTakesLongIsAskedLittle) {
  const ChatTemplate slow =
      loaded("{% for i in range(90000) %}{% for j in range(3) %}{% endfor %}{% endfor %}" + kMessages +
             "{# thinking_mode thinking_option reasoning_mode #}{% if enable_thinking %}<think>{% endif %}");
  EXPECT_THAT(slow.thinking().name(), testing::AnyOf("", "enable_thinking"));
}

TEST(ThinkingSwitch, OfTheTemplatesOfTheTestDataIsThatOfEach) {
  const char* data = std::getenv("OCTAVO_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "no test data";
  const std::filesystem::path folder = std::filesystem::path(data) / "templates";
  const std::map<std::string, std::string> expected = {{"Qwen-Qwen3-0.6B", "enable_thinking"},
                                                       {"Qwen3.5-4B", "enable_thinking"},
                                                       {"GLM-4.6", "enable_thinking"},
                                                       {"HuggingFaceTB-SmolLM3-3B", "enable_thinking"},
                                                       {"NVIDIA-Nemotron-Nano-v2", "/no_think"},
                                                       {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "enable_thinking"},
                                                       {"ibm-granite-granite-3.3-2B-Instruct", "thinking"},
                                                       {"Kimi-K3", "thinking"},
                                                       {"Cohere2MoE", "reasoning"},
                                                       {"MiniMax-M3", "thinking_mode"},
                                                       {"ByteDance-Seed-OSS", "thinking_budget"},
                                                       {"tencent-Hy3", "reasoning_effort"},
                                                       {"deepseek-ai-DeepSeek-V3.1", "enable_thinking"},
                                                       {"openai-gpt-oss-120b", ""},
                                                       {"Qwen-Qwen2.5-7B-Instruct", ""},
                                                       {"mistralai-Ministral-3-14B-Reasoning-2512", ""}};
  for (const auto& [name, switch_name] : expected) {
    std::ostringstream source;
    source << std::ifstream(folder / (name + ".jinja")).rdbuf();
    const ChatTemplate chat_template = loaded(source.str());
    EXPECT_EQ(chat_template.thinking().name(), switch_name) << name;
    if (switch_name.empty()) continue;
    EXPECT_NE(rendered(chat_template, {{"enable_thinking", true}}),
              rendered(chat_template, {{"enable_thinking", false}}))
        << name;
  }
}

}  // namespace
}  // namespace octavo::test
