#include "tokenizer/text_encoder.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace octavo {

namespace {

/// The bytes per token for which room is reserved. Most tokens are longer, so a long text's tokens need not be moved.
constexpr std::size_t kBytesOfToken = 3;
/// The bytes of words between two looks whether the work must stop: some milliseconds of encoding.
constexpr std::size_t kBytesBetweenLooks = std::size_t{16} << 10;

std::array<bool, 256> silent_bytes(const WordAlgorithm& algorithm) {
  const auto* bpe = std::get_if<Bpe>(&algorithm);
  return bpe == nullptr ? std::array<bool, 256>{} : bpe->silent_bytes();
}

}  // namespace

std::unexpected<Error> too_many_tokens(std::size_t max_tokens) {
  return fail_as(ErrorKind::kContextOverflow, "found more than {} tokens, expected at most as many", max_tokens);
}

TextEncoder::TextEncoder(EncoderParts parts, const Vocab& vocab)
    : parts_(std::move(parts)), bound_(vocab, silent_bytes(parts_.algorithm)) {
  is_bounded_ = parts_.normalizer.max_shrink() && parts_.word_steps.max_shrink() &&
                !(parts_.cuts && parts_.cuts->leaves_out()) && !may_join_any() && parts_.strips_left.empty() &&
                parts_.strips_right.empty();
  if (!parts_.strips_left.empty() || !parts_.strips_right.empty()) spaces_ = white_space();
}

/// Whether a text of any length may become one token, or none.
bool TextEncoder::may_join_any() const {
  if (const auto* characters = std::get_if<CharacterBpe>(&parts_.algorithm)) return characters->leaves_out_or_joins();
  return std::holds_alternative<WordPiece>(parts_.algorithm) || std::holds_alternative<Unigram>(parts_.algorithm);
}

bool TextEncoder::needs_characters() const {
  const bool takes_bytes =
      std::holds_alternative<Spm>(parts_.algorithm) || std::holds_alternative<CharacterBpe>(parts_.algorithm);
  return !takes_bytes || parts_.cuts || parts_.normalizer.need_characters() || parts_.word_steps.need_characters();
}

bool TextEncoder::are_too_long(std::span<const std::string_view> texts, std::size_t max_tokens) const {
  if (!is_bounded_) return false;
  const std::size_t longest = bound_.longest() * *parts_.normalizer.max_shrink() * *parts_.word_steps.max_shrink();
  std::size_t num_bytes = 0;
  for (const std::string_view text : texts) num_bytes += text.size();
  if (num_bytes / longest <= max_tokens) return false;
  num_bytes = 0;
  for (const std::string_view text : texts) {
    // Repairing may make a text shorter, and its result may have bytes without tokens.
    if (is_valid_utf8(text)) num_bytes += bound_.num_spoken(text);
  }
  return num_bytes / longest > max_tokens;
}

void TextEncoder::strip(std::vector<Fragment>& fragments) const {
  if (parts_.strips_left.empty() && parts_.strips_right.empty()) return;
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    std::string_view& text = fragments[i].text;
    if (fragments[i].token >= 0) continue;
    if (i > 0 && std::ranges::binary_search(parts_.strips_right, fragments[i - 1].token)) {
      text.remove_prefix(leading_bytes(text, spaces_));
    }
    if (i + 1 < fragments.size() && std::ranges::binary_search(parts_.strips_left, fragments[i + 1].token)) {
      text.remove_suffix(trailing_bytes(text, spaces_));
    }
  }
}

Result<void> TextEncoder::Run::end() const {
  return limits.too_many == TooMany::kStop ? Result<void>() : too_many_tokens(limits.max_tokens);
}

bool TextEncoder::Run::goes_on(std::size_t bytes) {
  bytes_since_look += bytes;
  if (bytes_since_look < kBytesBetweenLooks) return !has_too_many();
  bytes_since_look = 0;
  return !has_too_many() && !is_stopped();
}

template <class Encode>
Result<void> TextEncoder::encode_fragments(std::vector<Fragment> fragments, bool is_first, Run& run,
                                           const Encode& encode) const {
  strip(fragments);
  for (const Fragment& fragment : fragments) {
    if (fragment.token >= 0) {
      run.ids.push_back(fragment.token);
    } else {
      OCTAVO_TRY_VOID(encode(fragment.text, is_first));
    }
    is_first = false;
    if (run.has_too_many()) return run.end();
    if (!run.goes_on(fragment.text.size())) return {};
  }
  return {};
}

Result<void> TextEncoder::encode(const Vocab& vocab, std::vector<Fragment> fragments, bool parse_special,
                                 const EncodeLimits& limits, std::vector<TokenId>& ids) const {
  std::size_t num_bytes = 0;
  for (const Fragment& fragment : fragments) num_bytes += fragment.text.size();
  ids.reserve(ids.size() + std::min(limits.max_tokens, fragments.size() + num_bytes / kBytesOfToken));
  std::unique_ptr<EncoderScratch> scratch = spare_->take();
  scratch->watch(limits.work);
  Run run{.vocab = vocab, .limits = limits, .ids = ids, .scratch = *scratch};
  auto result = encode_fragments(std::move(fragments), true, run, [&](std::string_view text, bool is_first) {
    return encode_text(text, is_first, parse_special, run);
  });
  scratch->watch(nullptr);
  spare_->give(std::move(scratch));
  if (run.is_stopped()) return std::unexpected(limits.work->stopped());  // the text was not encoded to its end
  return result;
}

Result<void> TextEncoder::encode_text(std::string_view text, bool is_first, bool parse_special, Run& run) const {
  RepairedText repaired;
  if (needs_characters() && !is_valid_utf8(text)) {
    repaired = repair_utf8(text);
    text = repaired.text;
  }
  OCTAVO_TRY(text, parts_.normalizer.apply(text, is_first, run.scratch.normalizing));
  const SpecialTokens& special = parse_special ? parts_.normalized_special : parts_.normalized_ordinary;
  if (special.is_empty()) return encode_pieces(text, is_first, run);
  return encode_fragments(special.split(text), is_first, run, [&](std::string_view piece, bool is_first_piece) {
    return encode_pieces(piece, is_first_piece, run);
  });
}

Result<void> TextEncoder::encode_pieces(std::string_view text, bool is_first, Run& run) const {
  OCTAVO_TRY(text, parts_.word_steps.apply(text, is_first, run.scratch.stepping));
  const bool is_refused =
      run.limits.too_many == TooMany::kRefuse && is_bounded_ && bound_.exceeds(text, run.num_left());
  if (is_refused) return too_many_tokens(run.limits.max_tokens);
  if (!parts_.cuts) {
    encode_word(text, run);
    return {};
  }
  const auto add_word = [&](std::uint32_t begin, std::uint32_t end) {
    encode_word(text.substr(begin, end - begin), run);
    return run.goes_on(end - begin);
  };
  OCTAVO_TRY_VOID(parts_.cuts->for_each_word(text, add_word, run.scratch.cutting));
  return {};
}

void TextEncoder::encode_word(std::string_view word, Run& run) const {
  if (const auto* bpe = std::get_if<Bpe>(&parts_.algorithm)) {
    bpe->encode(word, run.scratch.merging, run.ids);
  } else if (const auto* word_piece = std::get_if<WordPiece>(&parts_.algorithm)) {
    word_piece->encode(word, run.ids);
  } else if (const auto* unigram = std::get_if<Unigram>(&parts_.algorithm)) {
    unigram->encode(word, run.scratch.ways, run.ids);
  } else if (const auto* spm = std::get_if<Spm>(&parts_.algorithm)) {
    spm->encode(run.vocab, word, run.scratch.joining, run.ids);
  } else {
    std::get<CharacterBpe>(parts_.algorithm).encode(run.vocab, word, run.scratch.merging, run.ids);
  }
}

}  // namespace octavo
