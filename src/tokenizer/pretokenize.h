// Cuts text into the words that byte-level BPE merges within, by the patterns that tokenizer.ggml.pre names.
//
// Patterns run on PCRE2 with its JIT compiler where the system allows it; every call bounds the backtracking and the
// memory, and no pattern here backtracks more than the text is long, so time is linear.
// Owned by the Tokenizer; immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"

struct pcre2_real_code_8;

namespace octavo {

class PreTokenizer {
 public:
  /// The pre-tokenizer that tokenizer.ggml.pre names; "" stands for a missing key. Error: unknown name, with the list
  /// of those that are supported.
  static Result<PreTokenizer> create(std::string_view name);

  /// A word that is a token as a whole becomes that token without merging (the tokenizers of Llama 3 and its kin).
  bool ignore_merges() const { return ignore_merges_; }
  /// BOS is added where the file has no tokenizer.ggml.add_bos_token.
  bool add_bos() const { return add_bos_; }

  /// Called with a word's begin and end; false: no further word is wanted.
  using Visit = std::function<bool(std::uint32_t begin, std::uint32_t end)>;

  /// Cuts `text` and shows each word as soon as it is known, so that one who stops early pays for what was seen only.
  /// Words come in order, and every byte belongs to one. `text` is well-formed UTF-8 of less than 4 GiB. Error: PCRE2
  /// met one of its limits.
  Result<void> for_each_word(std::string_view text, const Visit& visit) const;
  /// The words' ends; the last is the size of `text`.
  Result<std::vector<std::uint32_t>> split(std::string_view text) const;

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };
  using Code = std::unique_ptr<pcre2_real_code_8, FreeCode>;
  struct Matcher;

  PreTokenizer() = default;
  /// text[begin, end) by the stages from `stage` on. False: visit() wants no more.
  Result<bool> cut(std::size_t stage, const Matcher& matcher, std::string_view text, std::uint32_t begin,
                   std::uint32_t end, const Visit& visit) const;
  static Code compile(std::string_view pattern);

  std::vector<Code> stages_;  // each cuts the pieces of the one before
  bool ignore_merges_ = false;
  bool add_bos_ = false;
};

}  // namespace octavo
