#include "tokenizer/spm.h"

#include <algorithm>
#include <limits>

#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {

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

Result<Spm> Spm::create(const Vocab& vocab, std::string_view file) {
  Spm spm;
  OCTAVO_TRY(spm.byte_tokens_, byte_fallback_tokens(vocab, file));
  for (TokenId id = 0; id < vocab.size(); ++id) {
    spm.max_token_bytes_ = std::max(spm.max_token_bytes_, vocab.text(id).size());
  }
  return spm;
}

bool Spm::worse(const Pair& a, const Pair& b) { return a.score < b.score || (a.score == b.score && a.left > b.left); }

// Characters are cut by their lead bytes alone, so a broken one may take its neighbours with it, as in llama.cpp.
void Spm::cut_into_characters(Work& work) {
  const auto size = static_cast<std::uint32_t>(work.text.size());
  for (std::uint32_t begin = 0; begin < size;) {
    const auto length =
        static_cast<std::uint32_t>(std::min<std::size_t>(utf8_announced_length(work.text[begin]), size - begin));
    const auto index = static_cast<std::int32_t>(work.symbols.size());
    work.symbols.push_back({.begin = begin,
                            .length = length,
                            .previous = index - 1,
                            .next = begin + length < size ? index + 1 : -1,
                            .token = work.vocab.find_ordinary(work.text.substr(begin, length))});
    begin += length;
  }
}

void Spm::push_pair(Work& work, std::int32_t left) const {
  if (left < 0) return;
  const Symbol& first = work.symbols[to_size(left)];
  if (first.next < 0) return;
  const std::size_t length = std::size_t{first.length} + work.symbols[to_size(first.next)].length;
  if (length > max_token_bytes_) return;
  const TokenId token = work.vocab.find_ordinary(work.text.substr(first.begin, length));
  if (token < 0) return;
  work.queue.push_back({work.vocab.score(token), left, static_cast<std::uint32_t>(length), token});
  std::push_heap(work.queue.begin(), work.queue.end(), worse);
}

void Spm::merge_all(Work& work) const {
  auto& symbols = work.symbols;
  auto& queue = work.queue;
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), worse);
    const Pair pair = queue.back();
    queue.pop_back();
    Symbol& left = symbols[to_size(pair.left)];
    if (left.length == 0 || left.next < 0) continue;
    Symbol& right = symbols[to_size(left.next)];
    if (left.length + right.length != pair.length) continue;  // one of them has been merged since
    left.length = pair.length;
    left.token = pair.token;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) symbols[to_size(left.next)].previous = pair.left;
    push_pair(work, left.previous);
    push_pair(work, pair.left);
  }
}

void Spm::encode(const Vocab& vocab, std::string_view text, std::vector<TokenId>& out) const {
  OCTAVO_CHECK(text.size() <= to_size(std::numeric_limits<std::int32_t>::max()));
  if (text.empty()) return;
  Work work{vocab, text, {}, {}};
  cut_into_characters(work);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(work.symbols.size()); ++i) push_pair(work, i);
  merge_all(work);
  for (std::int32_t i = 0; i >= 0; i = work.symbols[to_size(i)].next) {
    const Symbol& symbol = work.symbols[to_size(i)];
    if (symbol.token >= 0) {
      out.push_back(symbol.token);
      continue;
    }
    for (const char c : text.substr(symbol.begin, symbol.length)) {
      out.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
    }
  }
}

}  // namespace octavo
