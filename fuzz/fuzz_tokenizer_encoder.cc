// Any vocabulary of WordPiece or Unigram, and any text: it is refused in words, or ids are in the vocabulary, a stream
// of them decodes as the whole does, texts and pairs that are cut have at most as many tokens as they may, and those
// around them, and a cut text is the begin of the whole one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_bytes.h"
#include "support/memory_source.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace octavo;

/// Pieces of tokens and texts: marks, letters of several lengths, what normalizing changes, and broken UTF-8.
constexpr std::string_view kPieces[] = {"\u2581", "a",     "b",      "A",      " ",     "\u00E9", "e\u0301",
                                        "\u4E2D", "!",     "\u0130", "\uFDFA", "\t",    "\xC3",   "\xFF",
                                        "##",     "[CLS]", "[SEP]",  "[UNK]",  "<unk>", "</s>"};

std::string piece_text(Bytes& bytes, int most) {
  std::string text;
  for (int i = bytes.below(most + 1); i > 0; --i) text += kPieces[bytes.below(std::size(kPieces))];
  return text;
}

test::MemorySource make_source(Bytes& bytes) {
  test::MemorySource source;
  const bool is_unigram = bytes.below(2) == 1;
  source.add("tokenizer.ggml.model", is_unigram ? "t5" : "bert");
  std::vector<std::string> tokens = {"[CLS]", "[SEP]", "[UNK]", "<unk>"};
  std::vector<std::int32_t> types = {3, 3, 3, 2};
  for (int i = 0; i < 4; ++i)
    if (bytes.below(20) == 0) types[static_cast<std::size_t>(i)] = bytes.below(8);
  for (int i = bytes.below(30); i > 0; --i) {
    std::string token = piece_text(bytes, 4);
    if (std::ranges::find(tokens, token) != tokens.end()) continue;
    tokens.push_back(std::move(token));
    types.push_back(bytes.below(4) == 0 ? bytes.below(7) : 1);
  }
  std::vector<float> scores;
  for (std::size_t i = 0; i < tokens.size(); ++i) scores.push_back(-static_cast<float>(bytes.number()) / 8);
  source.add_array("tokenizer.ggml.tokens", tokens).add_array("tokenizer.ggml.token_type", types);
  if (bytes.below(20) != 0) source.add_array("tokenizer.ggml.scores", scores);
  for (const char* name : {"add_bos_token", "add_eos_token", "add_sep_token", "add_space_prefix",
                           "remove_extra_whitespaces", "normalizer.lowercase", "normalizer.strip_accents"})
    if (const int flag = bytes.below(4); flag < 2) source.add(std::string("tokenizer.ggml.") + name, flag == 1);
  for (const char* name :
       {"bos_token_id", "eos_token_id", "cls_token_id", "seperator_token_id", "separator_token_id", "unknown_token_id"})
    if (const int id = bytes.below(12); id < 6) source.add(std::string("tokenizer.ggml.") + name, std::uint32_t(id));
  return source;
}

void check_ids(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  StreamDecoder decoder(tokenizer);
  std::string streamed;
  for (const TokenId id : ids) {
    FUZZ_CHECK(id >= 0 && id < tokenizer.vocab_size());
    streamed += decoder.push(id).bytes;
  }
  streamed += decoder.flush().bytes;
  FUZZ_CHECK(streamed == tokenizer.decode(ids));
}

void check_texts(const Tokenizer& tokenizer, const std::string& first, const std::string& second, std::size_t most) {
  for (const bool parse_special : {false, true}) {
    const auto whole = tokenizer.encode_framed(first, {.parse_special = parse_special});
    FUZZ_CHECK(whole.has_value() && !whole->is_cut && whole->types.size() == whole->ids.size());
    check_ids(tokenizer, whole->ids);
    const auto plain = tokenizer.encode(first, {.add_special = false, .parse_special = parse_special});
    FUZZ_CHECK(plain.has_value() && plain->size() <= whole->ids.size());
    const std::size_t num_around = whole->ids.size() - plain->size();
    const auto cut = tokenizer.encode_framed(first, {.max_tokens = most, .cuts = true, .parse_special = parse_special});
    FUZZ_CHECK(cut.has_value() == (most >= num_around));
    if (cut) {
      FUZZ_CHECK(cut->ids.size() == std::min(most, whole->ids.size()) && cut->is_cut == (most < whole->ids.size()));
      const std::size_t num_before = tokenizer.text_prefix().size();
      const std::size_t kept = cut->ids.size() - num_around;
      FUZZ_CHECK(std::equal(cut->ids.begin(), cut->ids.begin() + static_cast<std::ptrdiff_t>(num_before + kept),
                            whole->ids.begin()));
    }
    const auto refused = tokenizer.encode_framed(first, {.max_tokens = most, .parse_special = parse_special});
    FUZZ_CHECK(refused.has_value() == (most >= whole->ids.size()));
  }
  const auto pair = tokenizer.encode_pair(first, second, {.max_tokens = most, .cuts = true});
  FUZZ_CHECK(tokenizer.has_pairs() || !pair.has_value());
  if (pair) {
    FUZZ_CHECK(pair->ids.size() <= most && pair->types.size() == pair->ids.size());
    check_ids(tokenizer, pair->ids);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes({data, size});
  const test::MemorySource source = make_source(bytes);
  const auto tokenizer = Tokenizer::load(source);
  if (!tokenizer) {
    FUZZ_CHECK(!tokenizer.error().message.empty());
    return 0;
  }
  const auto most = static_cast<std::size_t>(bytes.below(24));
  const std::string first = piece_text(bytes, 30);
  std::string second = piece_text(bytes, 30);
  while (!bytes.empty()) second += static_cast<char>(bytes.next());
  check_texts(*tokenizer, first, second, most);
  check_texts(*tokenizer, second, first, most);
  return 0;
}
