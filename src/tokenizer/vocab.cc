#include "tokenizer/vocab.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/to_size.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/end_of_generation.h"

namespace octavo {

namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";

// Numbers of tokenizer.ggml.token_type (GGUF specification, "Tokenizer").
enum class TokenType : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

constexpr std::string_view kSpmSpace = "\xE2\x96\x81";  // U+2581, SentencePiece's mark for a space

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

/// Views of the pieces of `arena` that end at `ends`.
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
  if (id >= static_cast<std::uint64_t>(vocab_size)) {
    return fail("{}: {}: {} is not a token; the vocabulary has {}", source.name(), key, id, vocab_size);
  }
  return static_cast<TokenId>(id);
}

Result<bool> read_flag(const ModelSource& source, std::string_view key, bool fallback) {
  if (source.find(key) == nullptr) return fallback;
  return source.get_bool(key);
}

Result<void> require_words(const ModelSource& source, std::string_view key) {
  if (source.find(key) != nullptr) return {};
  return fail_as(ErrorKind::kNoWords, "{}: metadata key '{}' is missing", source.name(), key);
}

Result<Vocab> Vocab::load(const ModelSource& source) {
  OCTAVO_TRY_VOID(require_words(source, kModelKey));
  OCTAVO_TRY(const std::string_view model, source.get_string(kModelKey));
  Vocab vocab;
  if (model == "gpt2") {
    vocab.model_ = TokenizerModel::kBpe;
  } else if (model == "llama") {
    vocab.model_ = TokenizerModel::kSpm;
  } else if (model == "gemma4") {
    vocab.model_ = TokenizerModel::kSpmWithMerges;
  } else {
    return fail_as(
        ErrorKind::kNoWords,
        "{}: {}: {} is not supported; supported are 'gpt2' (byte-level BPE), 'llama' and 'gemma4' (SentencePiece)",
        source.name(), kModelKey, quote(model));
  }
  OCTAVO_TRY_VOID(vocab.read_texts(source));
  OCTAVO_TRY_VOID(vocab.read_types(source));
  if (vocab.model_ == TokenizerModel::kSpm) OCTAVO_TRY_VOID(vocab.read_scores(source));
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
      default: break;  // normal, unused, undefined: text like any other
    }
  }
  return {};
}

Result<void> Vocab::read_scores(const ModelSource& source) {
  OCTAVO_TRY(scores_, source.get_f32_array(kScoresKey));
  if (scores_.size() != texts_.size()) {
    return fail("{}: {} has {} entries; expected {}, as many as {}", source.name(), kScoresKey, scores_.size(),
                texts_.size(), kTokensKey);
  }
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (std::isnan(scores_[i])) {
      return fail("{}: {}: entry {} is not a number", source.name(), kScoresKey, i);
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
    out += text;
  } else if (!is_byte_level()) {
    for (std::size_t i = 0; i < text.size();) {
      const bool is_space = text.substr(i).starts_with(kSpmSpace);
      out.push_back(is_space ? ' ' : text[i]);
      i += is_space ? kSpmSpace.size() : 1;
    }
  } else if (!is_valid_utf8(text) || !alphabet.decode(text, out)) {
    out += text;  // not written in the byte alphabet: it stands for itself
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
