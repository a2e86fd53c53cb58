// Cuts text into the words that byte-level BPE merges within, by the patterns that tokenizer.ggml.pre names.
//
// Patterns run on PCRE2 with its JIT compiler where the system allows it; every call bounds the backtracking and the
// memory, and no pattern here backtracks more than the text is long, so time is linear.
// Owned by the Tokenizer; immutable, any thread.
#pragma once

#include <cstdint>
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

  /// Ends of the words of `text`, in order; the last is the size of `text`, and every byte belongs to a word. `text` is
  /// well-formed UTF-8 of less than 4 GiB. Error: PCRE2 met one of its limits.
  Result<std::vector<std::uint32_t>> split(std::string_view text) const;

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };
  using Code = std::unique_ptr<pcre2_real_code_8, FreeCode>;

  PreTokenizer() = default;
  static Code compile(std::string_view pattern);

  std::vector<Code> stages_;  // each cuts the pieces of the one before
  bool ignore_merges_ = false;
  bool add_bos_ = false;
};

}  // namespace octavo
