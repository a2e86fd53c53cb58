#include "tokenizer/json_encoder.h"

#include <algorithm>

namespace octavo {

namespace {

/// Adds a token to the tokens that any text can become, and, where it may stand in ordinary text, to those of ordinary
/// text.
void add(const Vocab& vocab, std::string_view text, TokenId id, SpecialTokens& all, SpecialTokens& ordinary) {
  all.add(text, id);
  if (vocab.is_ordinary(id)) {
    ordinary.add(text, id);
  } else {
    ordinary.add_plain(text);
  }
}

Result<WordAlgorithm> make_word_piece(const TokenizerJson& words, const Vocab& vocab) {
  auto result = WordPiece::create(vocab, words.max_word_characters);
  if (!result) return fail("{}: model.vocab: {}", words.file, result.error().message);
  return std::move(*result);
}

Result<WordAlgorithm> make_unigram(const TokenizerJson& words, const Vocab& vocab) {
  std::vector<double> scores = words.scores;
  const double worst = std::ranges::min(scores);
  scores.resize(to_size(vocab.size()));
  return Unigram::create(vocab, std::move(scores), worst - Unigram::kUnknownPenalty, words.unknown,
                         words.file + ": model.vocab");
}

bool is_of_model(const Vocab& vocab, const JsonAddedToken& token) { return token.id < vocab.size(); }

}  // namespace

Result<EncoderParts> json_encoder_parts(const TokenizerJson& words, const Vocab& vocab) {
  const TokenizerJsonPipeline& pipeline = words.pipeline;
  const std::string where = words.file + ": model.merges";
  const auto make_algorithm = [&]() -> Result<WordAlgorithm> {
    if (words.model == JsonModel::kWordPiece) return make_word_piece(words, vocab);
    if (words.model == JsonModel::kUnigram) return make_unigram(words, vocab);
    if (pipeline.is_byte_level) {
      return Bpe::create(vocab, words.merges, {.ignore_merges = words.ignores_merges, .unknown = words.unknown.token},
                         where);
    }
    return CharacterBpe::create(vocab, words.merges, words.unknown, where, words.file);
  };
  OCTAVO_TRY(auto algorithm, make_algorithm());
  EncoderParts parts{.algorithm = std::move(algorithm)};
  auto normalizer = TextSteps::create(pipeline.normalizer);
  if (!normalizer) return fail("{}: normalizer: {}", words.file, normalizer.error().message);
  auto word_steps = TextSteps::create(pipeline.word_steps);
  if (!word_steps) return fail("{}: pre_tokenizer: {}", words.file, word_steps.error().message);
  parts.normalizer = std::move(*normalizer);
  parts.word_steps = std::move(*word_steps);
  if (!pipeline.cuts.empty()) {
    std::vector<CutStage> stages;
    for (const JsonCut& cut : pipeline.cuts) {
      stages.push_back(cut.how);
      stages.back().pattern = cut.pattern;
    }
    auto cuts = PreTokenizer::create(stages, Normalization::kNone, words.ignores_merges);
    if (!cuts) return fail("{}: pre_tokenizer: {}", words.file, cuts.error().message);
    parts.cuts = std::move(*cuts);
  }
  TextSteps::Scratch scratch;
  for (const JsonAddedToken& token : words.added_tokens) {
    if (!is_of_model(vocab, token)) continue;
    if (token.strips_left) parts.strips_left.push_back(token.id);
    if (token.strips_right) parts.strips_right.push_back(token.id);
    if (!token.is_normalized) continue;
    OCTAVO_TRY(const std::string_view text, parts.normalizer.apply(token.text, true, scratch));
    if (!text.empty()) add(vocab, text, token.id, parts.normalized_special, parts.normalized_ordinary);
  }
  return parts;
}

JsonSpecialTokens json_special_tokens(const TokenizerJson& words, const Vocab& vocab) {
  JsonSpecialTokens special;
  for (const JsonAddedToken& token : words.added_tokens) {
    if (!is_of_model(vocab, token)) continue;
    special.of_template.add(token.text, token.id);
    if (!token.is_normalized) add(vocab, token.text, token.id, special.all, special.ordinary);
  }
  return special;
}

}  // namespace octavo
