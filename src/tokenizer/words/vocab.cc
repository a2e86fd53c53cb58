#include "tokenizer/words/vocab.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "source/unspecified.h"
#include "tokenizer/words/byte_level.h"
#include "tokenizer/words/end_of_generation.h"

namespace octavo {

namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";

// The numbers of tokenizer.ggml.token_type (GGUF specification, "Tokenizer").
enum class TokenType : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct ModelName {
  std::string_view name;
  TokenizerModel model;
};
constexpr ModelName kModels[] = {{"gpt2", TokenizerModel::kBpe},
                                 {"llama", TokenizerModel::kSpm},
                                 {"gemma4", TokenizerModel::kSpmWithMerges},
                                 {"bert", TokenizerModel::kWordPiece},
                                 {"t5", TokenizerModel::kUnigram}};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// The byte that "<0x41>" stands for; -1 for other texts.
int parse_byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return -1;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void append(std::vector<char>& out, std::string_view text) { out.insert(out.end(), text.begin(), text.end()); }

/// Views of the pieces of `arena`, which end at `ends`.
std::vector<std::string_view> views_of(const std::vector<char>& arena, const std::vector<std::size_t>& ends) {
  std::vector<std::string_view> views;
  views.reserve(ends.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    views.emplace_back(arena.data() + begin, end - begin);
    begin = end;
  }
  return views;
}

}  // namespace

Result<std::optional<TokenId>> read_token_id(const ModelSource& source, std::string_view key, int vocab_size) {
  if (source.find(key) == nullptr) return std::nullopt;
  OCTAVO_TRY(const std::uint64_t id, source.get_u64(key));
  if (id == kUnspecified) return std::nullopt;
  if (id >= static_cast<std::uint64_t>(vocab_size)) {
    return fail("{}: {}: {} is not a token; the vocabulary has {}", source.name(), key, id, vocab_size);
  }
  return static_cast<TokenId>(id);
}

Result<bool> read_flag(const ModelSource& source, std::string_view key, bool fallback) {
  if (source.find(key) == nullptr) return fallback;
  return source.get_bool(key);
}

Result<std::vector<float>> read_scores(const ModelSource& source, std::size_t vocab_size) {
  OCTAVO_TRY(auto scores, source.get_f32_array(kScoresKey));
  if (scores.size() != vocab_size) {
    return fail("{}: {} has {} entries; expected {}, as many as {}", source.name(), kScoresKey, scores.size(),
                vocab_size, kTokensKey);
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return fail("{}: {}: entry {} is not a number", source.name(), kScoresKey, i);
  }
  return scores;
}

Result<void> require_words(const ModelSource& source, std::string_view key) {
  if (source.find(key) != nullptr) return {};
  return fail_as(ErrorKind::kNoWords, "{}: metadata key '{}' is missing", source.name(), key);
}

Result<Vocab> Vocab::load(const ModelSource& source) {
  OCTAVO_TRY_VOID(require_words(source, kModelKey));
  OCTAVO_TRY(const std::string_view model, source.get_string(kModelKey));
  const auto* known = std::ranges::find(kModels, model, &ModelName::name);
  if (known == std::end(kModels)) {
    return fail_as(ErrorKind::kNoWords,
                   "{}: {}: {} is not supported; supported are 'gpt2' (byte-level BPE), 'llama' and 'gemma4' "
                   "(SentencePiece), 'bert' (WordPiece) and 't5' (Unigram)",
                   source.name(), kModelKey, quote(model));
  }
  Vocab vocab;
  vocab.model_ = known->model;
  OCTAVO_TRY_VOID(vocab.read_texts(source));
  OCTAVO_TRY_VOID(vocab.read_types(source));
  if (vocab.model_ == TokenizerModel::kSpm) {
    OCTAVO_TRY(vocab.scores_, read_scores(source, vocab.texts_.size()));
  }
  vocab.mark_known_texts();
  OCTAVO_TRY_VOID(vocab.read_special_ids(source));
  OCTAVO_TRY_VOID(vocab.read_end_ids(source));
  vocab.decide_ends();
  OCTAVO_TRY_VOID(vocab.decode_all(source));
  return vocab;
}

Result<void> Vocab::read_texts(const ModelSource& source) {
  OCTAVO_TRY_VOID(require_words(source, kTokensKey));
  OCTAVO_TRY(const auto tokens, source.get_strings(kTokensKey));
  if (tokens.empty()) return fail("{}: {} is empty", source.name(), kTokensKey);
  if (tokens.size() > kMaxTokens) {
    return fail("{}: {} has {} tokens; expected at most {}", source.name(), kTokensKey, tokens.size(), kMaxTokens);
  }
  std::vector<std::size_t> ends;
  ends.reserve(tokens.size());
  for (const std::string_view token : tokens) {
    append(text_arena_, token.empty() ? fmt::format("[EMPTY_{}]", ends.size()) : token);
    ends.push_back(text_arena_.size());
  }
  texts_ = views_of(text_arena_, ends);
  index_.reserve(texts_.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const auto [entry, inserted] = index_.emplace(texts_[i], static_cast<TokenId>(i));
    if (!inserted) {
      return fail("{}: {}: entries {} and {} are both {}; expected distinct texts", source.name(), kTokensKey,
                  entry->second, i, quote(texts_[i]));
    }
  }
  return {};
}

Result<void> Vocab::read_types(const ModelSource& source) {
  attributes_.assign(texts_.size(), 0);
  // Early byte-level files have no types: all their tokens are ordinary ones.
  if (is_byte_level() && source.find(kTypesKey) == nullptr) return {};
  OCTAVO_TRY(const auto types, source.get_i32_array(kTypesKey));
  if (types.size() != texts_.size()) {
    return fail("{}: {} has {} entries; expected {}, as many as {}", source.name(), kTypesKey, types.size(),
                texts_.size(), kTokensKey);
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    switch (static_cast<TokenType>(types[i])) {
      case TokenType::kUnknown: attributes_[i] = kUnknown; break;
      case TokenType::kControl: attributes_[i] = kControl; break;
      case TokenType::kUserDefined: attributes_[i] = kUserDefined; break;
      case TokenType::kByte: attributes_[i] = kByte; break;
      case TokenType::kUnused: attributes_[i] = kUnused; break;
      default: break;  // normal and undefined tokens are text like any other
    }
  }
  return {};
}

void Vocab::mark_known_texts() {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (!is_known_control_text(texts_[i])) continue;
    attributes_[i] |= kControl;
    if (is_known_end_text(texts_[i])) attributes_[i] |= kEndOfGeneration;
  }
}

Result<void> Vocab::read_special_ids(const ModelSource& source) {
  OCTAVO_TRY(bos_, read_token_id(source, "tokenizer.ggml.bos_token_id", size()));
  OCTAVO_TRY(eos_, read_token_id(source, "tokenizer.ggml.eos_token_id", size()));
  OCTAVO_TRY(unknown_, read_token_id(source, "tokenizer.ggml.unknown_token_id", size()));
  OCTAVO_TRY(const auto first, read_token_id(source, "tokenizer.ggml.cls_token_id", size()));
  OCTAVO_TRY(separator_, read_token_id(source, "tokenizer.ggml.separator_token_id", size()));
  if (!separator_) {  // the key's name in llama.cpp
    OCTAVO_TRY(separator_, read_token_id(source, "tokenizer.ggml.seperator_token_id", size()));
  }
  if (first && (!bos_ || model_ == TokenizerModel::kWordPiece)) bos_ = first;
  OCTAVO_TRY_VOID(find_special_texts(source));
  if (!eos_) eos_ = separator_;
  return {};
}

/// Finds the special tokens of an encoder's words that no key names, by their texts.
Result<void> Vocab::find_special_texts(const ModelSource& source) {
  const bool is_word_piece = model_ == TokenizerModel::kWordPiece;
  if (!is_word_piece && model_ != TokenizerModel::kUnigram) return {};
  const auto find_unless_named = [this](std::optional<TokenId>& id, std::string_view text, std::uint8_t attribute) {
    if (const TokenId found = find(text); !id && found >= 0) id = found;
    if (id) attributes_[to_size(*id)] |= attribute;
  };
  const std::string_view unknown = is_word_piece ? "[UNK]" : "<unk>";
  find_unless_named(unknown_, unknown, kUnknown);
  if (!unknown_)
    return fail("{}: found neither tokenizer.ggml.unknown_token_id nor a token '{}', expected one of them",
                source.name(), unknown);
  if (!is_word_piece) return {};
  find_unless_named(bos_, "[CLS]", kControl);
  find_unless_named(separator_, "[SEP]", kControl);
  return {};
}

Result<void> Vocab::read_end_ids(const ModelSource& source) {
  for (const std::string_view key : end_token_keys()) {
    OCTAVO_TRY(const auto id, read_token_id(source, key, size()));
    if (id) attributes_[to_size(*id)] |= kEndOfGeneration;
  }
  if (source.find(kEosIdsKey) == nullptr) return {};
  OCTAVO_TRY(const auto ids, source.get_i32_array(kEosIdsKey));
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= size()) {
      return fail("{}: {}: {} is not a token; the vocabulary has {}", source.name(), kEosIdsKey, id, size());
    }
    attributes_[to_size(id)] |= kEndOfGeneration;
  }
  return {};
}

void Vocab::decide_ends() {
  for (const EndRule& rule : end_rules()) {
    const TokenId id = find(rule.text);
    if (id < 0 ||
        !std::ranges::all_of(rule.beside, [this](std::string_view text) { return text.empty() || find(text) >= 0; })) {
      continue;
    }
    if (rule.is_end) {
      attributes_[to_size(id)] |= kEndOfGeneration | kControl;
    } else {
      attributes_[to_size(id)] &= static_cast<std::uint8_t>(~kEndOfGeneration);
    }
  }
  const bool has_end = std::ranges::any_of(attributes_, [](std::uint8_t a) { return (a & kEndOfGeneration) != 0; });
  if (has_end) return;
  if (const TokenId id = find(kLastResortEnd); id >= 0) attributes_[to_size(id)] |= kEndOfGeneration;
}

Result<void> Vocab::decode_all(const ModelSource& source) {
  const ByteAlphabet alphabet;
  std::vector<std::size_t> ends;
  ends.reserve(texts_.size());
  std::string decoded;
  for (TokenId id = 0; id < size(); ++id) {
    if (has(id, kByte)) {
      const int byte = parse_byte_token(text(id));
      if (byte < 0) {
        return fail("{}: {}: token {} has the type of a byte, but its text is {}; expected '<0x41>' or the like",
                    source.name(), kTypesKey, id, quote(text(id)));
      }
      byte_arena_.push_back(static_cast<char>(byte));
    } else {
      decoded.clear();
      decode_text(alphabet, id, decoded);
      append(byte_arena_, decoded);
    }
    ends.push_back(byte_arena_.size());
  }
  bytes_ = views_of(byte_arena_, ends);
  return {};
}

void Vocab::decode_text(const ByteAlphabet& alphabet, TokenId id, std::string& out) const {
  const std::string_view text = this->text(id);
  if (has(id, kControl | kUnknown | kUserDefined)) {
    const bool is_word = model_ == TokenizerModel::kWordPiece && has(id, kUnknown);  // it stands for a whole word
    out.append(is_word ? " " : "").append(text);
  } else if (model_ == TokenizerModel::kWordPiece) {
    const bool begins_word = text.starts_with(kSpaceMark);
    out.append(begins_word ? " " : "").append(text.substr(begins_word ? kSpaceMark.size() : 0));
  } else if (!is_byte_level()) {
    for (std::size_t i = 0; i < text.size();) {
      const bool is_space = text.substr(i).starts_with(kSpaceMark);
      out.push_back(is_space ? ' ' : text[i]);
      i += is_space ? kSpaceMark.size() : 1;
    }
  } else if (!is_valid_utf8(text) || !alphabet.decode(text, out)) {
    out += text;  // a text outside the byte alphabet stands for itself
  }
}

TokenId Vocab::find(std::string_view text) const {
  const auto entry = index_.find(text);
  return entry == index_.end() ? -1 : entry->second;
}

TokenId Vocab::find_ordinary(std::string_view text) const {
  const TokenId id = find(text);
  return id < 0 || !is_ordinary(id) ? -1 : id;
}

}  // namespace octavo
