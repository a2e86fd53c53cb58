#include "tokenizer/gguf_encoder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/ascii.h"
#include "base/to_size.h"
#include "tokenizer/text/bert_normalizer.h"
#include "tokenizer/text/precompiled_charsmap.h"

namespace octavo {

namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kCharsmapKey = "tokenizer.ggml.precompiled_charsmap";

Result<std::vector<MergeText>> read_merges(const ModelSource& source) {
  OCTAVO_TRY_VOID(require_words(source, kMergesKey));
  OCTAVO_TRY(const auto merges, source.get_strings(kMergesKey));
  return split_merges(merges, source.name());
}

std::string place(const ModelSource& source, std::string_view key) { return fmt::format("{}: {}", source.name(), key); }

Result<GgufEncoder> read_byte_level_bpe(const ModelSource& source, const Vocab& vocab) {
  constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
  std::string_view name;
  if (source.find(kPreKey) != nullptr) {
    OCTAVO_TRY(name, source.get_string(kPreKey));
  }
  auto pre_tokenizer = PreTokenizer::create(name);
  if (!pre_tokenizer)
    return fail_as(ErrorKind::kNoWords, "{}: {}: {}", source.name(), kPreKey, pre_tokenizer.error().message);
  OCTAVO_TRY(const auto merges, read_merges(source));
  const Bpe::Options options{.ignore_merges = pre_tokenizer->ignore_merges()};
  OCTAVO_TRY(Bpe bpe, Bpe::create(vocab, merges, options, place(source, kMergesKey)));
  std::vector<TextStep> steps;
  if (pre_tokenizer->normalization() != Normalization::kNone) steps.push_back({.form = pre_tokenizer->normalization()});
  OCTAVO_TRY(TextSteps normalizer, TextSteps::create(std::move(steps)));
  const bool adds_bos = pre_tokenizer->add_bos();
  return GgufEncoder{
      .parts = {.normalizer = std::move(normalizer), .cuts = std::move(*pre_tokenizer), .algorithm = std::move(bpe)},
      .defaults = {.adds_bos = adds_bos}};
}

/// Whether a space is put before a text; decoding leaves it out again.
Result<bool> adds_space(const ModelSource& source) {
  return read_flag(source, "tokenizer.ggml.add_space_prefix", true);
}

Result<GgufEncoder> read_sentence_piece(const ModelSource& source, const Vocab& vocab) {
  OCTAVO_TRY(const bool adds_space_prefix, adds_space(source));
  std::vector<TextStep> steps = {{.kind = TextStep::Kind::kReplace, .from = " ", .to = std::string(kSpaceMark)}};
  if (adds_space_prefix) steps.insert(steps.begin(), {.kind = TextStep::Kind::kPrepend, .to = " "});
  OCTAVO_TRY(TextSteps normalizer, TextSteps::create(std::move(steps)));
  const auto with = [&](WordAlgorithm algorithm) {
    return GgufEncoder{.parts = {.normalizer = std::move(normalizer), .algorithm = std::move(algorithm)},
                       .defaults = {.adds_bos = true},
                       .strips_space = adds_space_prefix};
  };
  if (vocab.model() == TokenizerModel::kSpm) {
    OCTAVO_TRY(Spm spm, Spm::create(vocab, source.name()));
    return with(std::move(spm));
  }
  OCTAVO_TRY(const auto merges, read_merges(source));
  OCTAVO_TRY(CharacterBpe bpe, CharacterBpe::create(vocab, merges, {}, place(source, kMergesKey), source.name()));
  return with(std::move(bpe));
}

/// Whether the words of a vocabulary have small letters only, which files need not say: converters write
/// tokenizer.ggml.normalizer.lowercase since 2026. A cased vocabulary has capital letters in a third of its words; an
/// uncased one in a few added words at most.
bool is_uncased(const Vocab& vocab) {
  constexpr std::ptrdiff_t kFewOf = 100;
  std::ptrdiff_t num_capital = 0;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    if (vocab.is_ordinary(id) && std::ranges::any_of(vocab.text(id), is_capital)) ++num_capital;
  }
  return num_capital * kFewOf < vocab.size();
}

Result<GgufEncoder> read_word_piece(const ModelSource& source, const Vocab& vocab) {
  BertNormalizer bert;
  OCTAVO_TRY(bert.lower_cases, read_flag(source, "tokenizer.ggml.normalizer.lowercase", is_uncased(vocab)));
  OCTAVO_TRY(bert.leaves_out_accents, read_flag(source, "tokenizer.ggml.normalizer.strip_accents", bert.lower_cases));
  std::vector<TextStep> steps;
  bert.add_steps(steps);
  OCTAVO_TRY(TextSteps normalizer, TextSteps::create(std::move(steps)));
  OCTAVO_TRY(PreTokenizer cuts, PreTokenizer::create(kBertCuts, Normalization::kNone, false));
  auto word_piece = WordPiece::create(vocab);
  if (!word_piece) return fail("{}: tokenizer.ggml.tokens: {}", source.name(), word_piece.error().message);
  return GgufEncoder{
      .parts = {.normalizer = std::move(normalizer), .cuts = std::move(cuts), .algorithm = std::move(*word_piece)},
      .strips_space = true};
}

/// The file's table of characters, if it has one.
Result<std::shared_ptr<const PrecompiledCharsmap>> read_charsmap(const ModelSource& source) {
  const MetadataValue* value = source.find(kCharsmapKey);
  if (value == nullptr) return nullptr;
  const auto* array = std::get_if<MetadataArray>(&value->value);
  const bool is_bytes =
      array != nullptr && (array->element_type == MetadataType::kUint8 || array->element_type == MetadataType::kInt8);
  if (!is_bytes)
    return fail("{}: {}: found {}, expected an array of bytes", source.name(), kCharsmapKey, describe(*value));
  if (array->size == 0) return nullptr;
  auto map = PrecompiledCharsmap::parse({reinterpret_cast<const char*>(array->bytes.data()), array->bytes.size()});
  if (!map) return fail("{}: {}: {}", source.name(), kCharsmapKey, map.error().message);
  return std::make_shared<const PrecompiledCharsmap>(std::move(*map));
}

/// Whether no token reaches from one word into the next: U+2581 stands only at the beginnings of tokens.
bool keep_to_words(const Vocab& vocab) {
  for (TokenId id = 0; id < vocab.size(); ++id)
    if (vocab.is_ordinary(id) && vocab.text(id).find(kSpaceMark, 1) != std::string_view::npos) return false;
  return true;
}

/// The worst score of a normal token, from which the score of unknown characters follows.
double worst_score(const Vocab& vocab, const std::vector<double>& scores) {
  double worst = 0;
  for (TokenId id = 0; id < vocab.size(); ++id)
    if (vocab.is_ordinary(id) && !vocab.is_unused(id)) worst = std::min(worst, scores[to_size(id)]);
  return worst;
}

UnknownCharacters unknown_of(const Vocab& vocab) {
  using Become = UnknownCharacters::Become;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (vocab.find_ordinary(fmt::format("<0x{:02X}>", byte)) < 0)
      return {.become = Become::kOneUnknown, .token = vocab.unknown().value()};
  }
  return {.become = Become::kBytes};
}

Result<GgufEncoder> read_unigram(const ModelSource& source, const Vocab& vocab) {
  OCTAVO_TRY(const bool adds_space_prefix, adds_space(source));
  OCTAVO_TRY(const bool merges_spaces, read_flag(source, "tokenizer.ggml.remove_extra_whitespaces", true));
  OCTAVO_TRY(auto charsmap, read_charsmap(source));
  std::vector<TextStep> steps;
  if (charsmap) steps.push_back({.kind = TextStep::Kind::kReplaceMapped, .charsmap = std::move(charsmap)});
  OCTAVO_TRY(TextSteps normalizer, TextSteps::create(std::move(steps)));
  const std::string mark(kSpaceMark);
  if (merges_spaces && adds_space_prefix) {
    steps = {{.kind = TextStep::Kind::kMarkWords, .to = mark}};
  } else {
    steps = {{.kind = TextStep::Kind::kReplace, .from = " ", .to = mark}};
    if (merges_spaces) {
      steps.insert(steps.begin(), {.kind = TextStep::Kind::kTrim, .trims_begin = true, .trims_end = true});
      steps.insert(steps.begin() + 1, {.kind = TextStep::Kind::kReplaceRuns, .from = " ", .to = " "});
    }
    if (adds_space_prefix)
      steps.push_back({.kind = TextStep::Kind::kPrepend, .when = TextStep::When::kUnlessThere, .to = mark});
  }
  OCTAVO_TRY(TextSteps word_steps, TextSteps::create(std::move(steps)));
  std::optional<PreTokenizer> cuts;
  if (keep_to_words(vocab)) {
    OCTAVO_TRY(cuts, PreTokenizer::create(kWordMarkCut, Normalization::kNone, false));
  }
  OCTAVO_TRY(const auto scores, read_scores(source, to_size(vocab.size())));
  std::vector<double> wide(scores.begin(), scores.end());
  const double unknown_score = worst_score(vocab, wide) - Unigram::kUnknownPenalty;
  OCTAVO_TRY(Unigram unigram,
             Unigram::create(vocab, std::move(wide), unknown_score, unknown_of(vocab), place(source, kScoresKey)));
  return GgufEncoder{.parts = {.normalizer = std::move(normalizer),
                               .word_steps = std::move(word_steps),
                               .cuts = std::move(cuts),
                               .algorithm = std::move(unigram)},
                     .defaults = {.adds_eos = true},  // T5's files that do not say it need it
                     .strips_space = adds_space_prefix};
}

}  // namespace

Result<GgufEncoder> read_gguf_encoder(const ModelSource& source, const Vocab& vocab) {
  switch (vocab.model()) {
    case TokenizerModel::kBpe: return read_byte_level_bpe(source, vocab);
    case TokenizerModel::kSpm:
    case TokenizerModel::kSpmWithMerges: return read_sentence_piece(source, vocab);
    case TokenizerModel::kWordPiece: return read_word_piece(source, vocab);
    case TokenizerModel::kUnigram: return read_unigram(source, vocab);
  }
  std::unreachable();
}

}  // namespace octavo
