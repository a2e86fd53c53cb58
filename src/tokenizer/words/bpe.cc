#include "tokenizer/words/bpe.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/to_size.h"
#include "tokenizer/words/byte_level.h"

namespace octavo {

namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";

unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

}  // namespace

std::size_t Bpe::Scratch::bytes() const {
  return tokens.capacity() * sizeof(TokenId) + left.bytes() + queue.bytes() + word.capacity();
}

Result<std::vector<MergeText>> split_merges(std::span<const std::string_view> merges, std::string_view file) {
  std::vector<MergeText> texts;
  texts.reserve(merges.size());
  for (const std::string_view merge : merges) {
    // A token may be a space, so the separator is looked for after the first byte.
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return fail("{}: {}: entry {} is {}; expected two texts with a space between", file, kMergesKey, texts.size(),
                  quote(merge));
    }
    texts.push_back({merge.substr(0, space), merge.substr(space + 1)});
  }
  return texts;
}

Result<Bpe> Bpe::create(const Vocab& vocab, std::span<const MergeText> merges, const Options& options,
                        std::string_view where) {
  if (merges.size() >= kNoShortRank) return fail("{}: found {} entries, too many", where, merges.size());
  Bpe bpe;
  const ByteAlphabet alphabet;
  for (unsigned byte = 0; byte < 256; ++byte) {
    TokenId token = vocab.find_ordinary(alphabet.character(static_cast<std::uint8_t>(byte)));
    if (token < 0) token = options.unknown;
    bpe.byte_tokens_[byte] = token;
    if (bpe.byte_tokens_[byte] < 0) bpe.has_silent_bytes_ = true;
  }
  std::string joined;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    joined.assign(left).append(right);
    const Merge merge{vocab.find(left), vocab.find(right), vocab.find(joined)};
    if (merge.left < 0 || merge.right < 0 || merge.merged < 0) {
      return fail("{}: entry {} is {}, but {} is no token", where, i, quote(fmt::format("{} {}", left, right)),
                  quote(merge.left < 0    ? left
                        : merge.right < 0 ? right
                                          : std::string_view(joined)));
    }
    if (vocab.is_ordinary(merge.merged)) bpe.merges_.push_back(merge);
  }
  bpe.build_pairs(vocab.size());
  if (options.ignore_merges) {
    std::string bytes;
    for (TokenId id = 0; id < vocab.size(); ++id) {
      bytes.clear();
      // Words are looked up as the vocabulary writes them, so only texts in the byte alphabet can be one.
      if (!vocab.is_ordinary(id) || !alphabet.decode(vocab.text(id), bytes)) continue;
      bpe.whole_words_.emplace(bytes, id);
    }
  }
  return bpe;
}

void Bpe::build_pairs(int vocab_size) {
  std::vector<std::uint32_t> order(merges_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  // Sorted by (left, right), and the better rank first where an entry is repeated.
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::tuple(merges_[a].left, merges_[a].right, a) < std::tuple(merges_[b].left, merges_[b].right, b);
  });
  pairs_begin_.assign(to_size(vocab_size) + 1, 0);
  pairs_.reserve(order.size());
  for (const std::uint32_t rank : order) {
    pairs_.push_back({merges_[rank].right, rank});
    ++pairs_begin_[to_size(merges_[rank].left) + 1];
  }
  for (std::size_t i = 1; i < pairs_begin_.size(); ++i) pairs_begin_[i] += pairs_begin_[i - 1];

  byte_pairs_.assign(256 * 256, kNoRank);
  for (std::size_t left = 0; left < 256; ++left) {
    for (std::size_t right = 0; right < 256; ++right) {
      byte_pairs_[left * 256 + right] = rank(byte_tokens_[left], byte_tokens_[right]);
    }
  }
}

std::uint32_t Bpe::rank(TokenId left, TokenId right) const {
  if (left < 0 || right < 0) return kNoRank;
  const auto begin = pairs_.begin() + pairs_begin_[to_size(left)];
  const auto end = pairs_.begin() + pairs_begin_[to_size(left) + 1];
  const auto pair = std::lower_bound(begin, end, right, [](const Pair& p, TokenId id) { return p.right < id; });
  return pair == end || pair->right != right ? kNoRank : pair->rank;
}

std::array<bool, 256> Bpe::silent_bytes() const {
  std::array<bool, 256> silent{};
  for (std::size_t byte = 0; byte < silent.size(); ++byte) silent[byte] = byte_tokens_[byte] < 0;
  return silent;
}

void Bpe::encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  if (!whole_words_.empty()) {
    if (const auto entry = whole_words_.find(std::string(word)); entry != whole_words_.end()) {
      out.push_back(entry->second);
      return;
    }
  }
  if (has_silent_bytes_) {
    scratch.word.assign(word);
    std::erase_if(scratch.word, [this](char c) { return byte_tokens_[byte_of(c)] < 0; });
    word = scratch.word;
  }
  if (word.size() <= kShortWord) {
    encode_short(word, out);
    return;
  }
  OCTAVO_CHECK(word.size() <= to_size(std::numeric_limits<std::int32_t>::max()));
  scratch.tokens.clear();
  scratch.queue.clear();
  for (std::size_t i = 0; i < word.size(); ++i) {
    scratch.tokens.push_back(byte_tokens_[byte_of(word[i])]);
    if (i + 1 == word.size()) break;
    const std::uint32_t pair_rank = byte_pairs_[byte_of(word[i]) * 256 + byte_of(word[i + 1])];
    if (pair_rank != kNoRank) scratch.queue.push({pair_rank, static_cast<std::int32_t>(i)});
  }
  merge_queued(scratch, out);
}

// In a word of a few bytes the best pair is found by looking at all of them, which is faster than a queue. A pair is
// one number, its rank above its position, so that the smallest number says both; compilers turn the loops into vector
// instructions.
void Bpe::encode_short(std::string_view word, std::vector<TokenId>& out) const {
  std::array<TokenId, kShortWord> tokens;
  std::array<std::int32_t, kShortWord> pairs;  // pairs[i]: of tokens i and i + 1
  const auto pair_at = [](std::uint32_t pair_rank, std::size_t i) {
    return static_cast<std::int32_t>(std::min(pair_rank, kNoShortRank) << kPositionBits | i);
  };
  std::size_t size = word.size();
  for (std::size_t i = 0; i < size; ++i) {
    tokens[i] = byte_tokens_[byte_of(word[i])];
    pairs[i] = pair_at(i + 1 < size ? byte_pairs_[byte_of(word[i]) * 256 + byte_of(word[i + 1])] : kNoRank, i);
  }
  while (size > 1) {
    std::int32_t best = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < size; ++i) best = std::min(best, pairs[i]);
    const std::uint32_t best_rank = static_cast<std::uint32_t>(best) >> kPositionBits;
    if (best_rank == kNoShortRank) break;
    const std::size_t i = to_size(best) % kShortWord;
    tokens[i] = merges_[best_rank].merged;
    --size;
    for (std::size_t j = i + 1; j < size; ++j) tokens[j] = tokens[j + 1];
    for (std::size_t j = i + 1; j < size; ++j) pairs[j] = pairs[j + 1] - 1;
    if (i > 0) pairs[i - 1] = pair_at(rank(tokens[i - 1], tokens[i]), i - 1);
    pairs[i] = pair_at(i + 1 < size ? rank(tokens[i], tokens[i + 1]) : kNoRank, i);
  }
  out.insert(out.end(), tokens.begin(), tokens.begin() + size);
}

void Bpe::push_pair(std::size_t left, std::size_t right, Scratch& scratch) const {
  const std::uint32_t pair_rank = rank(scratch.tokens[left], scratch.tokens[right]);
  if (pair_rank != kNoRank) scratch.queue.push({pair_rank, static_cast<std::int32_t>(left)});
}

void Bpe::merge(Scratch& scratch, std::vector<TokenId>& out) const {
  OCTAVO_CHECK(scratch.tokens.size() <= to_size(std::numeric_limits<std::int32_t>::max()));
  scratch.queue.clear();
  for (std::size_t i = 0; i + 1 < scratch.tokens.size(); ++i) push_pair(i, i + 1, scratch);
  merge_queued(scratch, out);
}

// For many tokens: a bit for each token that is left, whose neighbours are never further away than a token is long, and
// a queue of pairs. This takes a third of the memory of links in both directions, within which a long word would jump
// about beyond a cache's size. An entry whose tokens have changed since is recognized by them and dropped.
void Bpe::merge_queued(Scratch& scratch, std::vector<TokenId>& out) const {
  auto& tokens = scratch.tokens;
  scratch.left.reset(tokens.size());
  while (const auto entry = scratch.queue.pop()) {
    const Merge& merge = merges_[entry->rank];
    const std::size_t i = to_size(entry->position);
    if (tokens[i] != merge.left) continue;
    const std::size_t next = scratch.left.after(i);
    if (next == tokens.size() || tokens[next] != merge.right) continue;
    tokens[i] = merge.merged;
    tokens[next] = -1;
    scratch.left.remove(next);
    if (const std::size_t behind = scratch.left.after(next); behind < tokens.size()) push_pair(i, behind, scratch);
    if (i > 0) push_pair(scratch.left.before(i), i, scratch);
  }
  for (const TokenId token : tokens) {
    if (token >= 0) out.push_back(token);
  }
}

}  // namespace octavo
