#include "chat/named_prompts.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/joined.h"
#include "base/text.h"
#include "json/json_file.h"
#include "source/sentence_names.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxValues = 4096;

struct Prompt {
  std::string_view name, text;
};
constexpr Prompt kGemma[] = {{"query", "task: search result | query: "},
                             {"document", "title: none | text: "},
                             {"classification", "task: classification | query: "},
                             {"clustering", "task: clustering | query: "},
                             {"similarity", "task: sentence similarity | query: "}};
constexpr Prompt kNomic[] = {{"search_query", "search_query: "},
                             {"search_document", "search_document: "},
                             {"classification", "classification: "},
                             {"clustering", "clustering: "}};
constexpr Prompt kE5[] = {{"query", "query: "}, {"passage", "passage: "}};
constexpr Prompt kInstruct[] = {
    {"query", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "},
    {"document", ""}};
constexpr Prompt kQwen3[] = {
    {"query", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"},
    {"document", ""}};
constexpr Prompt kRepresent[] = {{"query", "Represent this sentence for searching relevant passages: "},
                                 {"document", ""}};
constexpr Prompt kRepresentChinese[] = {{"query", "为这个句子生成表示以用于检索相关文章："}, {"document", ""}};
constexpr Prompt kQueryAlone[] = {{"query", "query: "}, {"document", ""}};

struct Maker {
  std::string_view architecture;  // the architecture that the row is for; empty: any
  std::string_view name;          // a part of the model's, as dashed_name() writes it; empty: any
  std::span<const Prompt> prompts;
};
/// Makers' prompts; the first row that fits a model counts.
constexpr Maker kMakers[] = {
    {"gemma-embedding", "", kGemma},
    {"nomic-bert", "", kNomic},
    {"nomic-bert-moe", "", kNomic},
    {"", "qwen3-embedding", kQwen3},
    {"", "e5-mistral", kInstruct},
    {"", "e5-large-instruct", kInstruct},
    {"bert", "e5-", kE5},
    {"", "bge-small-en", kRepresent},
    {"", "bge-base-en", kRepresent},
    {"", "bge-large-en", kRepresent},
    {"", "bge-small-zh", kRepresentChinese},
    {"", "bge-base-zh", kRepresentChinese},
    {"", "bge-large-zh", kRepresentChinese},
    {"", "mxbai-embed", kRepresent},
    {"", "arctic-embed-m-v2", kQueryAlone},
    {"", "arctic-embed-l-v2", kQueryAlone},
    {"", "arctic-embed", kRepresent},
};

/// Reads the prompts of config_sentence_transformers.json.
Result<void> read_prompts(std::string_view text, const std::string& place, EmbeddingInfo& info) {
  OCTAVO_TRY(const TemplateValue value, read_json_object(text, place, kMaxValues));
  const JsonObject settings(std::get<TemplateDict>(value), place);
  OCTAVO_TRY(const auto prompts, settings.object_if("prompts"));
  if (prompts) {
    for (const auto& [name, words] : prompts->members()) {
      OCTAVO_TRY(const std::string_view given, prompts->text(name));
      info.prompts.push_back({.name = name, .text = std::string(given)});
    }
  }
  if (!settings.has("default_prompt_name")) return {};
  OCTAVO_TRY(const std::string_view name, settings.text("default_prompt_name"));
  info.default_prompt = name;
  const auto found = info.prompt_text({});
  return found ? Result<void>{} : fail("{}: {}", settings.place("default_prompt_name"), found.error().message);
}

}  // namespace

Result<std::string_view> EmbeddingInfo::prompt_text(const std::optional<std::string>& name) const {
  const std::string& wanted = name ? *name : default_prompt;
  if (wanted.empty()) return std::string_view();
  const auto found = std::ranges::find(prompts, wanted, &NamedPrompt::name);
  if (found != prompts.end()) return found->text;
  if (prompts.empty()) return fail("found {}, expected none: the model has no prompts with names", quote(wanted));
  return fail("found {}, expected one of {}", quote(wanted),
              joined(prompts, [](const NamedPrompt& prompt) { return printable(prompt.name); }));
}

Result<void> read_named_prompts(const ModelSource& source, std::string_view architecture, std::string_view name,
                                EmbeddingInfo& info) {
  if (source.find(sentence_names::kConfig) != nullptr) {
    OCTAVO_TRY(const std::string_view text, source.get_string(sentence_names::kConfig));
    OCTAVO_TRY_VOID(read_prompts(text, fmt::format("{}: {}", source.name(), sentence_names::kConfig), info));
  }
  if (!info.prompts.empty()) return {};
  const std::string plain = dashed_name(name);
  const auto is_of = [&](const Maker& maker) {
    return (maker.architecture.empty() || maker.architecture == architecture) && plain.contains(maker.name);
  };
  const auto* const maker = std::ranges::find_if(kMakers, is_of);
  if (maker == std::end(kMakers)) return {};
  for (const Prompt& prompt : maker->prompts)
    info.prompts.push_back({.name = std::string(prompt.name), .text = std::string(prompt.text)});
  return {};
}

}  // namespace octavo
