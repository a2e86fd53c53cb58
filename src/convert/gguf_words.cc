#include "convert/gguf_words.h"

#include <algorithm>
#include <vector>

#include "base/to_size.h"
#include "tokenizer/pretokenizers.h"

namespace octavo {
namespace {

constexpr std::string_view kJsonKey = "tokenizer.huggingface.json", kTokensKey = "tokenizer.ggml.tokens";

bool is_same(const CutStage& a, const CutStage& b) {
  return a.is_on_bytes == b.is_on_bytes && a.behavior == b.behavior && a.is_inverted == b.is_inverted;
}

bool cuts_as(const PreTokenizerKind& kind, const std::vector<JsonCut>& cuts) {
  const auto num_stages =
      to_size(std::ranges::count_if(kind.stages, [](const CutStage& s) { return !s.pattern.empty(); }));
  if (num_stages != cuts.size()) return false;
  for (std::size_t i = 0; i < cuts.size(); ++i)
    if (kind.stages[i].pattern != cuts[i].pattern || !is_same(kind.stages[i], cuts[i].how)) return false;
  return true;
}

/// What happens to a text before its cuts, as GGUF's pre-tokenizers know it; none: something else happens.
std::optional<Normalization> normalization_of(const std::vector<TextStep>& steps) {
  if (steps.empty()) return Normalization::kNone;
  if (steps.size() > 1 || steps.front().kind != TextStep::Kind::kNormalize) return std::nullopt;
  return steps.front().form;
}

/// nullptr: no pre-tokenizer of GGUF does the same.
const PreTokenizerKind* find_pre_tokenizer(const TokenizerJson& json) {
  const TokenizerJsonPipeline& pipeline = json.pipeline;
  const auto normalization = normalization_of(pipeline.normalizer);
  if (!pipeline.is_byte_level || !pipeline.word_steps.empty() || !normalization) return nullptr;
  const auto kinds = all_pre_tokenizers();
  const auto found = std::ranges::find_if(kinds, [&](const PreTokenizerKind& kind) {
    return kind.normalization == *normalization && kind.ignore_merges == json.ignores_merges &&
           cuts_as(kind, pipeline.cuts);
  });
  return found == kinds.end() ? nullptr : &*found;
}

std::string text_of(const MergeText& merge) { return fmt::format("{} {}", merge.left, merge.right); }

}  // namespace

Result<GgufWords> GgufWords::of(const ModelSource& model) {
  GgufWords words(model);
  if (model.find(kTokensKey) != nullptr || model.find(kJsonKey) == nullptr) return words;
  OCTAVO_TRY(const std::string_view text, model.get_string(kJsonKey));
  OCTAVO_TRY(TokenizerJson json, TokenizerJson::parse(text, model.name() + ": tokenizer.json"));
  const PreTokenizerKind* kind = find_pre_tokenizer(json);
  if (kind == nullptr) {
    words.why_kept_ =
        json.pipeline.is_byte_level ? "its pre-tokenizer has no name in GGUF" : "it is no byte-level vocabulary";
    return words;
  }
  words.pre_tokenizer_ = kind->names.substr(0, kind->names.find(' '));
  words.json_ = std::make_unique<const TokenizerJson>(std::move(json));
  OCTAVO_TRY(words.words_, JsonWordSource::create(*words.json_, &model));
  return words;
}

void GgufWords::add_keys(GgufHead& head) const {
  if (!json_) return;
  std::vector<std::string> merges;
  merges.reserve(json_->merges.size());
  for (const MergeText& merge : json_->merges) merges.push_back(text_of(merge));
  head.set_strings("tokenizer.ggml.merges", merges);
  head.set_string("tokenizer.ggml.pre", pre_tokenizer_);
  head.set_bool("tokenizer.ggml.add_bos_token", !json_->pipeline.prefix.empty());
  if (!json_->pipeline.suffix.empty()) head.set_bool("tokenizer.ggml.add_eos_token", true);
}

}  // namespace octavo
