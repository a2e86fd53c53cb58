// Every control text of every vocabulary in every field of every template: no control token but the template's own.
//
// The template's own text is what may become control tokens, so it must be the same whatever the fields hold. A
// template may look for a text itself, as for </think> in an answer, and then writes other words of its own: such a
// text must stand in its source. That fields' text becomes no control token is seen on the vocabularies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "base/error.h"
#include "chat/chat_template.h"
#include "chat/chat_tokenizer.h"
#include "json/json_text.h"
#include "source/open_model.h"
#include "support/memory_source.h"
#include "support/prompt_tokens.h"
#include "tokenizer/real_vocab.h"
#include "tokenizer/words/vocab.h"

namespace octavo::test {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kVocabs[] = {
    "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf",     "ggml-vocab-command-r.gguf",
    "ggml-vocab-deepseek-coder.gguf",  "ggml-vocab-deepseek-llm.gguf", "ggml-vocab-falcon.gguf",
    "ggml-vocab-gemma-4.gguf",         "ggml-vocab-gpt-2.gguf",        "ggml-vocab-llama-bpe.gguf",
    "ggml-vocab-llama-spm.gguf",       "ggml-vocab-phi-3.gguf",        "ggml-vocab-qwen2.gguf",
    "ggml-vocab-qwen35.gguf",          "ggml-vocab-refact.gguf",       "ggml-vocab-starcoder.gguf"};

/// A vocabulary and the template of a model that has it; empty: the file's own, or none.
struct Pair {
  std::string_view vocab, chat_template;
};
constexpr Pair kPairs[] = {{"SmolLM2-135M-Instruct.Q4_1.gguf", ""},
                           {"gemma-3-270m-q4_k_m.gguf", "google-gemma-2-2b-it"},
                           {"ggml-vocab-command-r.gguf", "CohereForAI-c4ai-command-r-plus-tool_use"},
                           {"ggml-vocab-deepseek-llm.gguf", "deepseek-ai-DeepSeek-V3.1"},
                           {"ggml-vocab-gemma-4.gguf", "google-gemma-4-31B-it"},
                           {"ggml-vocab-llama-bpe.gguf", "meta-llama-Llama-3.1-8B-Instruct"},
                           {"ggml-vocab-llama-spm.gguf", "mistralai-Mistral-Nemo-Instruct-2407"},
                           {"ggml-vocab-phi-3.gguf", "microsoft-Phi-3.5-mini-instruct"},
                           {"ggml-vocab-qwen2.gguf", "Qwen-Qwen2.5-7B-Instruct"},
                           {"ggml-vocab-qwen35.gguf", "Qwen3.5-4B"}};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The texts of a vocabulary's control tokens, and of those that end an answer.
Texts control_texts(std::string_view file) {
  const auto source = open_model(test_data_folder() / file);
  const auto vocab = source ? Vocab::load(**source) : Result<Vocab>(std::unexpected(source.error()));
  Texts texts;
  EXPECT_TRUE(vocab) << vocab.error().message;
  for (TokenId id = 0; vocab && id < vocab->size(); ++id)
    if (vocab->is_control(id) || vocab->is_end_of_generation(id)) texts.emplace_back(vocab->text(id));
  return texts;
}

struct Conversation {
  std::vector<ChatMessage> messages;
  ChatTemplateOptions options = {};
};

/// A conversation with `text` in each field that a client fills: of one kind of fields, since a template that refuses
/// one kind is still to be seen with the others.
Conversation with_everywhere(std::string_view kind, const std::string& text) {
  const std::string any = "a " + text + " b";
  Conversation out;
  out.messages = {{"user", any}};
  if (kind == "answers") {
    out.messages = {{"system", any}, {"user", any}, {"assistant", any}, {"user", any}};
    out.messages[2].reasoning = any;
  } else if (kind == "calls") {
    out.messages.push_back({.role = "assistant", .content = {}, .reasoning = any});
    out.messages.back().tool_calls.push_back(
        {.id = any, .name = any, .arguments = TemplateDict{{any, TemplateList{any, TemplateDict{{any, any}}}}}});
    out.messages.push_back({.role = "tool", .content = any, .tool_call_id = any, .name = any});
  } else if (kind == "calls as text") {
    out.messages.push_back({.role = "assistant", .content = {}});
    out.messages.back().tool_calls.push_back(
        {.id = "1", .name = any, .arguments = write_json(TemplateDict{{any, any}})});
    out.messages.push_back({.role = "tool", .content = any, .tool_call_id = "1"});
  } else if (kind == "tools") {
    const TemplateDict property = {{"type", std::string("string")}, {"description", any}};
    const TemplateDict parameters = {{"type", std::string("object")}, {"properties", TemplateDict{{any, property}}}};
    const TemplateDict function = {{"name", any}, {"description", any}, {"parameters", parameters}};
    out.options.tools = TemplateList{TemplateDict{{"type", std::string("function")}, {"function", function}}};
  } else if (kind == "names") {
    for (const char* name : {"date_string", "model_identity", "reasoning_effort", "custom_instructions", "persona",
                             "developer_instruction", "thinking_mode", "xml_tools", "system_message"})
      out.options.names.emplace_back(name, any);
  } else if (kind == "roles and names") {
    out.messages = {{.role = "user", .content = any, .name = any}, {.role = any, .content = any}};
  }
  return out;
}

constexpr std::string_view kKinds[] = {"answers", "calls", "calls as text", "tools", "names", "roles and names"};

/// What of the prompt is the template's own, or nothing where the template refuses the conversation.
std::optional<std::string> own_text(const ChatTemplate& chat_template, const Conversation& conversation) {
  std::tm now{};
  now.tm_mday = 1;
  now.tm_year = 125;
  const auto parts =
      chat_template.render(conversation.messages, {.bos = "<s>", .eos = "</s>"}, conversation.options, now);
  if (!parts) return std::nullopt;
  std::string own;
  for (const PromptPart& part : *parts)
    if (part.is_template) own += part.text;
  return own;
}

std::string joined(std::span<const std::string> texts) {
  std::string all;
  for (const std::string& text : texts) all += text + " ";
  return all;
}

/// Of `texts` those with which the template's own text is another than with none of them.
void find_changing(const ChatTemplate& chat_template, std::string_view kind, const std::optional<std::string>& own,
                   std::span<const std::string> texts, std::set<std::string>& out) {
  if (own_text(chat_template, with_everywhere(kind, joined(texts))) == own) return;
  if (texts.size() == 1) {
    out.insert(texts.front());
    return;
  }
  find_changing(chat_template, kind, own, texts.first(texts.size() / 2), out);
  find_changing(chat_template, kind, own, texts.subspan(texts.size() / 2), out);
}

std::set<std::string> find_changing(const ChatTemplate& chat_template, std::span<const std::string> texts, int& seen) {
  std::set<std::string> changing;
  for (const std::string_view kind : kKinds) {
    const auto own = own_text(chat_template, with_everywhere(kind, "q"));
    if (!own) continue;
    ++seen;
    find_changing(chat_template, kind, own, texts, changing);
  }
  return changing;
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// Whether the template's own text has `text` more often if it is in the fields.
bool writes_more_of(const ChatTemplate& chat_template, const std::string& text) {
  return std::ranges::any_of(kKinds, [&](std::string_view kind) {
    const auto with = own_text(chat_template, with_everywhere(kind, text));
    const auto without = own_text(chat_template, with_everywhere(kind, "q"));
    return with && count(*with, text) > count(without.value_or(""), text);
  });
}

TEST(ControlTexts, AreTheTemplatesOwnInNoFieldOfAnyTemplate) {
  std::set<std::string> distinct = {"[INST]",   "[/INST]",     "[SYSTEM_PROMPT]", "[TOOL_CALLS]",
                                    "[THINK]",  "<|channel|>", "<|message|>",     "<|start|>",
                                    "<|call|>", "<|return|>",  "<think>",         "</think>"};
  for (const std::string_view vocab : kVocabs)
    for (const std::string& text : control_texts(vocab)) distinct.insert(text);
  ASSERT_GT(distinct.size(), 500U);
  const Texts texts(distinct.begin(), distinct.end());
  int num_templates = 0, num_seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data_folder() / "templates")) {
    if (entry.path().extension() != ".jinja") continue;
    const std::string source = read_file(entry.path());
    const auto chat_template = ChatTemplate::load(MemorySource(), source);
    ASSERT_TRUE(chat_template) << entry.path();
    ++num_templates;
    for (const std::string& text : find_changing(*chat_template, texts, num_seen))
      EXPECT_TRUE(source.contains(text) || !writes_more_of(*chat_template, text)) << entry.path() << ": " << text;
  }
  EXPECT_EQ(num_templates, 70);
  EXPECT_GT(num_seen, 250);  // of 420
}

TEST(ControlTexts, BecomeNoControlTokensInAnyVocabulary) {
  for (const Pair& pair : kPairs) {
    const auto source = open_model(test_data_folder() / pair.vocab);
    ASSERT_TRUE(source);
    const std::string path = std::string(pair.chat_template) + ".jinja";
    const std::string jinja = pair.chat_template.empty() ? "" : read_file(test_data_folder() / "templates" / path);
    const auto chat = ChatTokenizer::load(**source, jinja);
    const auto chat_template = ChatTemplate::load(**source, jinja);
    ASSERT_TRUE(chat && chat_template) << pair.vocab;
    const Texts all = control_texts(pair.vocab);
    int seen = 0;
    const std::set<std::string> looked_for = find_changing(*chat_template, all, seen);
    Texts texts;
    std::ranges::copy_if(all, std::back_inserter(texts), [&](const auto& text) { return !looked_for.contains(text); });
    const auto control_tokens = [&](std::string_view kind, const std::string& text) {
      const Conversation conversation = with_everywhere(kind, text);
      const auto ids = test::prompt_tokens(*chat, conversation.messages, conversation.options);
      std::vector<TokenId> control;
      for (const TokenId id : ids.value_or(std::vector<TokenId>{}))
        if (chat->tokenizer().is_control(id) || chat->tokenizer().is_end_of_generation(id)) control.push_back(id);
      return control;
    };
    for (const std::string_view kind : kKinds)
      EXPECT_EQ(control_tokens(kind, joined(texts)), control_tokens(kind, "q")) << pair.vocab << ", " << kind;
    EXPECT_THAT(control_tokens("answers", "q"), testing::Not(testing::IsEmpty())) << pair.vocab;
  }
}

}  // namespace
}  // namespace octavo::test
