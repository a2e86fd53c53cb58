#include "tokenizer/text/text_frame.h"

#include <tuple>

namespace octavo {

namespace {

constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEosKey = "tokenizer.ggml.add_eos_token";
constexpr std::string_view kAddSepKey = "tokenizer.ggml.add_sep_token";
constexpr std::string_view kBertSeparator = "[SEP]";

std::vector<FrameToken> of_type(const std::vector<TokenId>& ids, std::uint8_t type) {
  std::vector<FrameToken> tokens;
  tokens.reserve(ids.size());
  for (const TokenId id : ids) tokens.push_back({id, type});
  return tokens;
}

/// The form of two texts: one text's frame around both, whose end stands between them too. BERT's separator stands
/// there once, and the second text has another token type; RoBERTa's stands there twice. `adds_separator` is what the
/// file says about the second separator.
PairFrame pair_of(const TextFrame& frame, const Vocab& vocab, bool adds_separator) {
  const bool is_bert = vocab.text(frame.suffix.back()) == kBertSeparator;
  const std::uint8_t second_type = is_bert ? 1 : 0;
  PairFrame pair{.before = of_type(frame.prefix, 0),
                 .between = of_type(frame.suffix, 0),
                 .behind = of_type(frame.suffix, second_type),
                 .second_type = second_type};
  if (adds_separator && !is_bert) pair.between.push_back({vocab.separator().value_or(frame.suffix.back()), 0});
  return pair;
}

}  // namespace

PairFrame pair_of_bert(TokenId first, TokenId separator) {
  return {.before = {{first, 0}}, .between = {{separator, 0}}, .behind = {{separator, 1}}, .second_type = 1};
}

PairFrame pair_of_roberta(TokenId first, TokenId separator) {
  return {.before = {{first, 0}}, .between = {{separator, 0}, {separator, 0}}, .behind = {{separator, 0}}};
}

Result<TextFrame> read_text_frame(const ModelSource& source, const Vocab& vocab, const FrameDefaults& defaults) {
  if (vocab.model() == TokenizerModel::kWordPiece) {
    for (const auto& [token, key, text] : {std::tuple(vocab.bos(), "cls_token_id", "[CLS]"),
                                           std::tuple(vocab.separator(), "seperator_token_id", "[SEP]")}) {
      if (!token)
        return fail("{}: found neither tokenizer.ggml.{} nor a token '{}', expected one of them", source.name(), key,
                    text);
    }
    return TextFrame{.prefix = {*vocab.bos()},
                     .suffix = {*vocab.separator()},
                     .pair = pair_of_bert(*vocab.bos(), *vocab.separator())};
  }
  OCTAVO_TRY(const bool adds_bos, read_flag(source, kAddBosKey, defaults.adds_bos));
  OCTAVO_TRY(const bool adds_eos, read_flag(source, kAddEosKey, defaults.adds_eos));
  // XLM-RoBERTa's files from before llama.cpp wrote the key have two separators, too.
  const bool is_xlm_roberta = vocab.model() == TokenizerModel::kUnigram && adds_bos;
  OCTAVO_TRY(const bool adds_separator, read_flag(source, kAddSepKey, is_xlm_roberta));
  if (adds_bos && !vocab.bos()) {
    return fail("{}: tokenizer.ggml.bos_token_id is missing, but {} (or its default) asks for BOS", source.name(),
                kAddBosKey);
  }
  if (adds_eos && !vocab.eos()) {
    return fail("{}: tokenizer.ggml.eos_token_id is missing, but {} asks for EOS", source.name(), kAddEosKey);
  }
  if (adds_separator && !adds_eos && !vocab.separator()) {
    return fail("{}: tokenizer.ggml.seperator_token_id is missing, but {} asks for a separator", source.name(),
                kAddSepKey);
  }
  TextFrame frame;
  if (adds_bos) frame.prefix.push_back(*vocab.bos());
  if (adds_eos) {
    frame.suffix.push_back(*vocab.eos());
  } else if (adds_separator) {
    frame.suffix.push_back(*vocab.separator());
  }
  if (!frame.suffix.empty()) frame.pair = pair_of(frame, vocab, adds_separator);
  return frame;
}

}  // namespace octavo
