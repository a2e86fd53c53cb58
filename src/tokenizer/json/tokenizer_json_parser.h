// The JSON of a tokenizer.json: the large vocabulary and merges as flat lists, all other parts as values.
//
// Boost.JSON's parser reads the text once, with bounds on depth and on the number of values. Any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "json/json_limits.h"
#include "tokenizer/words/bpe.h"

namespace octavo {

/// The memory of a file's texts, one after another; they do not move, so that views of them stay valid.
class TextArena {
 public:
  explicit TextArena(std::size_t capacity) { bytes_.reserve(capacity); }
  /// Keeps a text. The sum of all texts is at most the capacity.
  std::string_view keep(std::string_view text);

 private:
  std::vector<char> bytes_;
};

struct ParsedTokenizerJson {
  /// The limits of files. Gemma's has 33 MB. Values do not include tokens and merges; Gemma 3 has 6400 added tokens of
  /// 7 values each.
  static constexpr JsonLimits kLimits{
      .max_bytes = std::size_t{64} << 20, .max_values = std::size_t{1} << 19, .max_members = 256};
  static constexpr std::size_t kMaxTokens = std::size_t{1} << 21;
  static constexpr std::size_t kMaxMerges = std::size_t{1} << 22;

  TextArena texts;                                                       // the texts of vocabulary and merges
  std::vector<std::pair<std::string_view, std::uint32_t>> vocabulary{};  // model.vocab: token and id
  std::vector<double> scores{};                                          // [vocabulary], where model.vocab is an array
  std::vector<MergeText> merges{};                                       // model.merges
  boost::json::object rest{};  // the whole text, where model.vocab is {} or [], and model.merges []

  /// Parses a text. Errors begin with `file`: no JSON; more than the limits allow; values of other kinds in vocabulary
  /// and merges.
  static Result<ParsedTokenizerJson> parse(std::string_view text, const std::string& file);
};

}  // namespace octavo
