#include "source/folder/sentence_keys.h"

#include <algorithm>

#include "base/text.h"
#include "json/json_file.h"
#include "json/json_text.h"
#include "source/sentence_names.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
constexpr std::size_t kMaxValues = 4096;
constexpr std::size_t kMostDense = 2;
constexpr std::uint64_t kRank = 4;  // the pooling_type of models that rank

constexpr std::uint64_t kQwen3Yes = 9693, kQwen3No = 2152;
constexpr std::string_view kQwen3Template =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a "
    "web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: "
    "{document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

struct Mode {
  std::string_view flag;  // the flag in the file
  std::string_view name;  // the value of newer files' pooling_mode
  std::uint64_t number;   // GGUF's number; 0: not supported
};
constexpr Mode kModes[] = {{"pooling_mode_mean_tokens", "mean", 1},
                           {"pooling_mode_cls_token", "cls", 2},
                           {"pooling_mode_lasttoken", "lasttoken", 3},
                           {"pooling_mode_max_tokens", "max", 0},
                           {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", 0},
                           {"pooling_mode_weightedmean_tokens", "weightedmean", 0}};

/// The object of a file that may be missing, with the names that its errors need.
struct Settings {
  TemplateValue value = {};
  std::string name = {};
  bool is_there = false;

  JsonObject object() const { return JsonObject(std::get<TemplateDict>(value), name); }
};

class SentenceFolder {
 public:
  SentenceFolder(const fs::path& folder, const std::string& prefix, DirectoryBuilder& out,
                 std::vector<std::string>& texts)
      : folder_(folder), prefix_(prefix), out_(out), texts_(texts) {}

  Result<SentenceModules> read() {
    OCTAVO_TRY(const std::optional<std::string> modules, text_of(folder_ / "modules.json"));
    if (modules) {
      OCTAVO_TRY_VOID(add_modules(*modules));
    } else {
      OCTAVO_TRY_VOID(add_pooling(folder_ / "1_Pooling"));
    }
    OCTAVO_TRY_VOID(find_rank_tokens());
    OCTAVO_TRY_VOID(add_longest());
    OCTAVO_TRY(const Settings prompts, settings_of(folder_ / "config_sentence_transformers.json"));
    if (prompts.is_there) out_.add_text(sentence_names::kConfig, texts_.back());
    return std::move(modules_);
  }

 private:
  Result<std::optional<std::string>> text_of(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::nullopt;
    OCTAVO_TRY(std::string text, read_text_file(path, kMaxBytes));
    texts_.push_back(text);
    return text;
  }

  Result<Settings> settings_of(const fs::path& path) {
    OCTAVO_TRY(const std::optional<std::string> text, text_of(path));
    Settings settings{.value = TemplateDict(), .name = path.string(), .is_there = text.has_value()};
    if (text) {
      OCTAVO_TRY(settings.value, read_json_object(*text, path, kMaxValues));
    }
    return settings;
  }

  Result<void> add_modules(std::string_view text) {
    const std::string name = (folder_ / "modules.json").string();
    std::size_t values_left = kMaxValues;
    const auto value = read_json(text, values_left);
    if (!value) return fail("{}: {}", name, value.error().message);
    const auto* list = std::get_if<TemplateList>(&*value);
    if (list == nullptr) return fail("{}: found {}, expected a list of modules", name, describe_json(*value));
    for (const TemplateValue& element : *list) {
      OCTAVO_TRY(const JsonObject module, JsonObject::of(element, name));
      OCTAVO_TRY_VOID(add_module(module));
    }
    return {};
  }

  /// Adds a module. Its type is the name of a class, with or without its packages.
  Result<void> add_module(const JsonObject& module) {
    OCTAVO_TRY(const std::string_view type, module.text("type"));
    OCTAVO_TRY(const std::string_view path, module.text("path"));
    if (path.contains('/') || path.starts_with('.'))
      return fail("{} is {}, expected the name of a folder beside it", module.place("path"), quote(path));
    const std::string_view kind = type.substr(type.rfind('.') + 1);
    if (kind == "Transformer") return require_root(module, path);
    if (kind == "Normalize") return {};  // vectors are, unless a request says otherwise
    std::error_code ignored;
    if (const bool is_known = kind == "Pooling" || kind == "Dense" || kind == "LogitScore";
        is_known && !fs::exists(folder_ / path / "config.json", ignored))
      return fail("{}: is not there, expected the settings of the {} that modules.json names",
                  (folder_ / path / "config.json").string(), kind);
    if (kind == "Pooling") return add_pooling(folder_ / path);
    if (kind == "Dense") return add_dense(folder_ / path);
    if (kind == "LogitScore") return add_rank_tokens(folder_ / path);
    return fail("{} is {}, supported are Transformer, Pooling, Dense, Normalize, LogitScore", module.place("type"),
                quote(type));
  }

  static Result<void> require_root(const JsonObject& module, std::string_view path) {
    return path.empty() ? Result<void>{}
                        : fail("{} of the Transformer is {}, expected an empty text: this folder", module.place("path"),
                               quote(path));
  }

  Result<void> add_pooling(const fs::path& folder) {
    OCTAVO_TRY(const Settings file, settings_of(folder / "config.json"));
    const JsonObject settings = file.object();
    OCTAVO_TRY(const bool with_prompt, settings.flag_or("include_prompt", true));
    std::optional<Mode> chosen;
    for (const Mode& mode : kModes) {
      OCTAVO_TRY(bool is_on, settings.flag_or(mode.flag, false));
      if (settings.has("pooling_mode")) {
        OCTAVO_TRY(const std::string_view given, settings.text("pooling_mode"));
        is_on = is_on || given == mode.name;
      }
      if (!is_on) continue;
      if (chosen || mode.number == 0)
        return fail("{} is on: expected one of mean, cls, last token alone", settings.place(mode.flag));
      chosen = mode;
    }
    if (!chosen && settings.has(kModes[0].flag))  // the flag is on by default
      return fail("{} is off, and no other mode is on: expected one of mean, cls, last token",
                  settings.place(kModes[0].flag));
    if (!chosen) return {};
    if (!with_prompt && chosen->name != "lasttoken")
      return fail("{} is false, expected true: the rows of a prompt are pooled with the text's",
                  settings.place("include_prompt"));
    out_.add_u32(prefix_ + "pooling_type", chosen->number);
    return {};
  }

  Result<void> add_dense(const fs::path& folder) {
    OCTAVO_TRY(const Settings file, settings_of(folder / "config.json"));
    const JsonObject settings = file.object();
    OCTAVO_TRY(const bool has_bias, settings.flag_or("bias", true));
    if (has_bias) return fail("{} is true, expected false", settings.place("bias"));
    OCTAVO_TRY(const std::string_view activation, settings.text("activation_function"));
    if (!activation.ends_with(".Identity"))
      return fail("{} is {}, expected Identity", settings.place("activation_function"), quote(activation));
    if (modules_.dense.size() == kMostDense)
      return fail("{}: found a third matrix behind the pooled row, expected at most {}", folder.string(), kMostDense);
    modules_.dense.push_back(folder);
    return {};
  }

  Result<void> add_rank_tokens(const fs::path& folder) {
    OCTAVO_TRY(const Settings file, settings_of(folder / "config.json"));
    OCTAVO_TRY(const std::uint64_t yes, file.object().size("true_token_id"));
    OCTAVO_TRY(const auto no, file.object().size_if("false_token_id"));
    modules_.rank = RankTokens{.yes = yes, .no = no};
    out_.add_u32(prefix_ + "pooling_type", kRank);
    return {};
  }

  /// Finds the tokens of a model that ranks. A Qwen3-Reranker (Zhang et al., 2025) may be known only by its page's
  /// address, as in llama.cpp; all Qwen 3 have the same words.
  Result<void> find_rank_tokens() {
    if (prefix_ != "qwen3.") return {};
    OCTAVO_TRY(const std::optional<std::string> page, text_of(folder_ / "README.md"));
    if (!modules_.rank && page && page->contains("# Qwen3-Reranker")) {
      modules_.rank = RankTokens{.yes = kQwen3Yes, .no = kQwen3No};
      out_.add_u32(prefix_ + "pooling_type", kRank);
    }
    if (modules_.rank) out_.add_text("tokenizer.chat_template.rerank", std::string(kQwen3Template));
    return {};
  }

  Result<void> add_longest() {
    OCTAVO_TRY(const Settings file, settings_of(folder_ / "sentence_bert_config.json"));
    const JsonObject settings = file.object();
    OCTAVO_TRY(const bool lowers, settings.flag_or("do_lower_case", false));
    if (lowers) return fail("{} is true, expected false", settings.place("do_lower_case"));
    OCTAVO_TRY(const auto most, settings.size_if("max_seq_length"));
    if (most && *most > 0) out_.add_u32(sentence_names::kMaxTokens, *most);
    return {};
  }

  const fs::path& folder_;
  const std::string& prefix_;
  DirectoryBuilder& out_;
  std::vector<std::string>& texts_;
  SentenceModules modules_ = {};
};

}  // namespace

Result<SentenceModules> add_sentence_keys(const fs::path& folder, const std::string& prefix, DirectoryBuilder& out,
                                          std::vector<std::string>& texts) {
  return SentenceFolder(folder, prefix, out, texts).read();
}

}  // namespace octavo
