#include "tokenizer/words/repeated_words.h"

namespace octavo {

void RepeatedWords::copy(const Entry& entry) {
  for (std::size_t i = entry.tokens_begin; i < entry.tokens_end; ++i) {
    const TokenId token = out_[i];  // read before push_back() may move it
    out_.push_back(token);
  }
}

}  // namespace octavo
