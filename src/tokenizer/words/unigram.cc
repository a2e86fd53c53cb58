#include "tokenizer/words/unigram.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/words/spm.h"

namespace octavo {
namespace {

constexpr std::size_t kCharactersBetweenLooks = 4096;  // the characters between two looks whether the work was stopped

}  // namespace

Result<Unigram> Unigram::create(const Vocab& vocab, std::vector<double> scores, double unknown_score,
                                const UnknownCharacters& unknown, std::string_view where) {
  OCTAVO_CHECK(scores.size() == to_size(vocab.size()));
  std::vector<TextTrie::Entry> entries;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    double& score = scores[to_size(id)];
    if (!std::isfinite(score))
      return fail("{}: found {} for {}, expected a number", where, score, quote(vocab.text(id)));
    if (vocab.is_user_defined(id)) score = 0;  // the best score, as in SentencePiece
    if (vocab.is_ordinary(id)) entries.push_back({vocab.text(id), id});
  }
  Unigram result(std::move(scores), unknown_score, unknown);
  auto trie = TextTrie::create(std::move(entries));
  if (!trie) return fail("{}: {}", where, trie.error().message);
  result.trie_ = std::move(*trie);
  if (unknown.become == UnknownCharacters::Become::kBytes) {
    OCTAVO_TRY(result.byte_tokens_, byte_fallback_tokens(vocab, where));
  }
  return result;
}

// A token may begin only where a character ends. A token that ends elsewhere, such as one of broken UTF-8, is on no way
// to the text's end.
bool Unigram::find_ways(std::string_view text, Scratch& scratch) const {
  std::vector<Scratch::Way>& ways = scratch.ways;
  ways.assign(text.size() + 1, {});
  std::size_t num_characters = 0;
  const auto offer = [&ways](std::size_t end, double score, std::size_t begin, TokenId token) {
    Scratch::Way& way = ways[end];
    if (way.token != kNoToken && score <= way.score) return;
    way = {.score = score, .begin = static_cast<std::uint32_t>(begin), .token = token};
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const double score = ways[begin].score;
    const std::size_t length = std::min(utf8_announced_length(text[begin]), text.size() - begin);
    bool is_known = false;
    TextTrie::Node node = TextTrie::kRoot;
    for (std::size_t i = begin; i < text.size(); ++i) {
      node = trie_.next(node, text[i]);
      if (node == TextTrie::kRoot) break;
      const TokenId token = trie_.value(node);
      if (token < 0) continue;
      offer(i + 1, scores_[to_size(token)] + score, begin, token);
      is_known = is_known || i + 1 - begin == length;
    }
    if (!is_known) offer(begin + length, unknown_score_ + score, begin, kUnknown);
    begin += length;
    const bool looks = scratch.work != nullptr && ++num_characters % kCharactersBetweenLooks == 0;
    if (looks && scratch.work->is_stopped()) return false;
  }
  return true;
}

void Unigram::append_unknown(std::string_view characters, std::vector<TokenId>& out) const {
  if (unknown_.become != UnknownCharacters::Become::kBytes) {
    out.push_back(unknown_.token);
    return;
  }
  for (const char c : characters) out.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
}

void Unigram::encode(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const {
  if (!find_ways(text, scratch)) return;
  std::vector<Scratch::Piece>& pieces = scratch.pieces;
  pieces.clear();
  for (std::size_t end = text.size(); end > 0; end = pieces.back().begin)
    pieces.push_back({.begin = scratch.ways[end].begin, .token = scratch.ways[end].token});
  for (std::size_t i = pieces.size(); i > 0;) {
    const Scratch::Piece& piece = pieces[--i];
    if (piece.token != kUnknown) {
      out.push_back(piece.token);
      continue;
    }
    while (i > 0 && pieces[i - 1].token == kUnknown) --i;
    const std::size_t end = i > 0 ? pieces[i - 1].begin : text.size();
    append_unknown(text.substr(piece.begin, end - piece.begin), out);
  }
}

}  // namespace octavo
