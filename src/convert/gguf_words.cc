#include "convert/gguf_words.h"

#include <algorithm>

#include "base/to_size.h"
#include "convert/spm_scores.h"
#include "tokenizer/pretokenize/pretokenizers.h"

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

/// The change of a text before it is cut, as GGUF's pre-tokenizers name it; none: it is another change.
std::optional<Normalization> normalization_of(const std::vector<TextStep>& steps) {
  if (steps.empty()) return Normalization::kNone;
  if (steps.size() > 1 || steps.front().kind != TextStep::Kind::kNormalize) return std::nullopt;
  return steps.front().form;
}

/// The pre-tokenizer of GGUF that does the same; nullptr: there is none.
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

constexpr std::string_view kSpace = "\u2581";

/// Whether a space is put in front of a text, where the only change before merging is that spaces become U+2581; none:
/// there are other changes.
std::optional<bool> puts_space_in_front(const TokenizerJsonPipeline& pipeline) {
  std::vector<TextStep> steps = pipeline.normalizer;
  steps.insert(steps.end(), pipeline.word_steps.begin(), pipeline.word_steps.end());
  const bool is_in_front = !steps.empty() && steps.front().kind == TextStep::Kind::kPrepend;
  if (is_in_front) {
    if (steps.front().to != kSpace || steps.front().when != TextStep::When::kAlways) return std::nullopt;
    steps.erase(steps.begin());
  }
  const bool replaces_spaces = steps.size() == 1 && steps.front().kind == TextStep::Kind::kReplace &&
                               steps.front().from == " " && steps.front().to == kSpace;
  if (!replaces_spaces || !pipeline.cuts.empty()) return std::nullopt;
  return is_in_front;
}

}  // namespace

std::string GgufWords::find_form(const TokenizerJson& json) {
  if (json.model != JsonModel::kBpe) return "its words are no merges, but WordPiece's or Unigram's";
  if (json.pipeline.is_byte_level) {
    const PreTokenizerKind* kind = find_pre_tokenizer(json);
    if (kind == nullptr) return "its pre-tokenizer has no name in GGUF";
    pre_tokenizer_ = kind->names.substr(0, kind->names.find(' '));
    return "";
  }
  const auto in_front = puts_space_in_front(json.pipeline);
  if (!in_front || json.unknown.become != UnknownCharacters::Become::kBytes || !json.pipeline.decodes_bytes)
    return "it is neither byte-level nor SentencePiece with bytes of unknown characters";
  puts_space_in_front_ = *in_front;
  // Gemma 4's files have the list of merges itself.
  const auto architecture = model_.get_string("general.architecture");
  const bool has_merges = architecture && *architecture == "gemma4";
  const auto scores = has_merges ? std::nullopt : spm_scores(json, json.num_ids());
  if (scores) scores_ = *scores;
  return !scores && *in_front ? "its merges are not those of SentencePiece" : "";
}

Result<GgufWords> GgufWords::of(const ModelSource& model) {
  GgufWords words(model);
  if (model.find(kTokensKey) != nullptr || model.find(kJsonKey) == nullptr) return words;
  OCTAVO_TRY(const std::string_view text, model.get_string(kJsonKey));
  OCTAVO_TRY(TokenizerJson json, TokenizerJson::parse(text, model.name() + ": tokenizer.json"));
  words.why_kept_ = words.find_form(json);
  if (!words.why_kept_.empty()) return words;
  words.json_ = std::make_unique<const TokenizerJson>(std::move(json));
  OCTAVO_TRY(words.words_, JsonWordSource::create(*words.json_, &model));
  if (!words.scores_.empty()) words.scores_.resize(words.words_->get_strings(kTokensKey)->size());
  return words;
}

void GgufWords::add_keys(GgufHead& head) const {
  if (!json_) return;
  if (!scores_.empty()) {
    head.set_string("tokenizer.ggml.model", "llama");
    MetadataArray scores;
    scores.element_type = MetadataType::kFloat32;
    scores.size = scores_.size();
    scores.bytes = std::as_bytes(std::span(scores_));
    head.set("tokenizer.ggml.scores", {MetadataType::kArray, std::move(scores)});
  } else {
    std::vector<std::string> merges;
    merges.reserve(json_->merges.size());
    for (const MergeText& merge : json_->merges) merges.push_back(text_of(merge));
    head.set_strings("tokenizer.ggml.merges", merges);
  }
  if (pre_tokenizer_.empty()) {
    head.set_bool("tokenizer.ggml.add_space_prefix", puts_space_in_front_);
  } else {
    head.set_string("tokenizer.ggml.pre", pre_tokenizer_);
  }
  const TextFrame& frame = json_->pipeline.frame;
  head.set_bool("tokenizer.ggml.add_bos_token", !frame.prefix.empty());
  if (!frame.suffix.empty()) head.set_bool("tokenizer.ggml.add_eos_token", true);
  const bool separates_twice = frame.pair && !frame.suffix.empty() && frame.pair->between.size() > frame.suffix.size();
  if (separates_twice) head.set_bool("tokenizer.ggml.add_sep_token", true);
}

}  // namespace octavo
