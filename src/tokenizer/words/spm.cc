#include "tokenizer/words/spm.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/to_size.h"
#include "base/utf8.h"
#include "tokenizer/words/repeated_words.h"

namespace octavo {
namespace {

constexpr std::size_t kBytesBetweenLooks = std::size_t{16} << 10;  // until it looks for a stop again

}  // namespace

Result<std::array<TokenId, 256>> byte_fallback_tokens(const Vocab& vocab, std::string_view file) {
  std::array<TokenId, 256> tokens{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    TokenId token = vocab.find_ordinary(fmt::format("<0x{:02X}>", byte));
    const char text = static_cast<char>(byte);
    if (token < 0) token = vocab.find_ordinary(std::string_view(&text, 1));
    if (token < 0 && !vocab.unknown()) {
      return fail("{}: tokenizer.ggml.tokens has no '<0x{:02X}>', and there is no tokenizer.ggml.unknown_token_id",
                  file, byte);
    }
    tokens[byte] = token < 0 ? *vocab.unknown() : token;
  }
  return tokens;
}

Spm::Spm(const Vocab& vocab) : neighbours_(vocab), ranks_(to_size(vocab.size())) {
  std::vector<TokenId> order(ranks_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return vocab.score(a) > vocab.score(b); });
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && vocab.score(order[i]) < vocab.score(order[i - 1])) ++rank;
    ranks_[to_size(order[i])] = rank;
    max_token_bytes_ = std::max(max_token_bytes_, vocab.text(order[i]).size());
  }
}

Result<Spm> Spm::create(const Vocab& vocab, std::string_view file) {
  Spm spm(vocab);
  OCTAVO_TRY(spm.byte_tokens_, byte_fallback_tokens(vocab, file));
  return spm;
}

// Characters are cut by their lead bytes alone, so a broken one may take its neighbours with it, as in llama.cpp.
void Spm::cut_into_characters(Work& work) {
  auto& symbols = work.scratch.symbols;
  symbols.clear();
  if (symbols.capacity() < work.word.size())  // characters are fewer than bytes
    symbols.reserve(to_size(std::ranges::count_if(work.word, [](char c) { return (c & 0xC0) != 0x80; })));
  const auto size = static_cast<std::uint32_t>(work.word.size());
  for (std::uint32_t begin = 0; begin < size;) {
    const auto length =
        static_cast<std::uint32_t>(std::min<std::size_t>(utf8_announced_length(work.word[begin]), size - begin));
    symbols.push_back(
        {.begin = begin, .length = length, .token = work.vocab.find_ordinary(work.word.substr(begin, length))});
    begin += length;
  }
}

TokenId Spm::join(const Work& work, const Scratch::Symbol& left, const Scratch::Symbol& right) const {
  const std::size_t length = std::size_t{left.length} + right.length;
  return length > max_token_bytes_ ? -1 : work.vocab.find_ordinary(work.word.substr(left.begin, length));
}

// In a word of a few characters the best pair is found by looking at all of them, which is faster than a queue.
void Spm::merge_few(Work& work) const {
  auto& symbols = work.scratch.symbols;
  const auto set_joined = [&](std::size_t i) {
    symbols[i].joined = i + 1 < symbols.size() ? join(work, symbols[i], symbols[i + 1]) : -1;
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) set_joined(i);
  while (true) {
    std::size_t best = symbols.size();
    std::uint32_t best_rank = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const TokenId joined = symbols[i].joined;
      if (joined < 0 || ranks_[to_size(joined)] >= best_rank) continue;
      best = i;
      best_rank = ranks_[to_size(joined)];
    }
    if (best == symbols.size()) return;
    symbols[best].token = symbols[best].joined;
    symbols[best].length += symbols[best + 1].length;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    set_joined(best);
    if (best > 0) set_joined(best - 1);
  }
}

void Spm::push_pair(Work& work, std::int32_t left) const {
  if (left < 0) return;
  auto& symbols = work.scratch.symbols;
  Scratch::Symbol& first = symbols[to_size(left)];
  first.joined = first.next < 0 ? -1 : join(work, first, symbols[to_size(first.next)]);
  if (first.joined >= 0) work.scratch.queue.push({ranks_[to_size(first.joined)], left});
}

// An entry whose symbols have changed since is dropped: its rank is that of another pair.
void Spm::merge_many(Work& work) const {
  auto& symbols = work.scratch.symbols;
  const auto size = static_cast<std::int32_t>(symbols.size());
  work.scratch.queue.clear();
  for (std::int32_t i = 0; i < size; ++i) {
    symbols[to_size(i)].previous = i - 1;
    symbols[to_size(i)].next = i + 1 < size ? i + 1 : -1;
  }
  for (std::int32_t i = 0; i < size; ++i) push_pair(work, i);
  while (const auto entry = work.scratch.queue.pop()) {
    Scratch::Symbol& left = symbols[to_size(entry->position)];
    if (left.length == 0 || left.joined < 0 || ranks_[to_size(left.joined)] != entry->rank) continue;
    Scratch::Symbol& right = symbols[to_size(left.next)];
    left.length += right.length;
    left.token = left.joined;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) symbols[to_size(left.next)].previous = entry->position;
    push_pair(work, left.previous);
    push_pair(work, entry->position);
  }
  std::erase_if(symbols, [](const Scratch::Symbol& symbol) { return symbol.length == 0; });
}

void Spm::encode_piece(Work work, std::vector<TokenId>& out) const {
  cut_into_characters(work);
  work.scratch.symbols.size() <= kFewSymbols ? merge_few(work) : merge_many(work);
  for (const Scratch::Symbol& symbol : work.scratch.symbols) {
    if (symbol.token >= 0) {
      out.push_back(symbol.token);
      continue;
    }
    for (const char c : work.word.substr(symbol.begin, symbol.length)) {
      out.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
    }
  }
}

void Spm::encode(const Vocab& vocab, std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const {
  OCTAVO_CHECK(text.size() <= to_size(std::numeric_limits<std::int32_t>::max()));
  RepeatedWords words(text, out);
  for (std::size_t begin = 0, looked_at = 0; begin < text.size();) {
    if (begin - looked_at >= kBytesBetweenLooks) {
      if (scratch.queue.is_stopped()) return;
      looked_at = begin;
    }
    const std::size_t length = neighbours_.piece(text.substr(begin));
    words.append(begin, length, [&](std::string_view word) { encode_piece({vocab, word, scratch}, out); });
    begin += length;
  }
}

}  // namespace octavo
