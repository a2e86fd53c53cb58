// The changes of a text before it is cut, as BertNormalizer of `tokenizers` makes them. Plain values; any thread.
#pragma once

#include <vector>

#include "tokenizer/text/text_steps.h"

namespace octavo {

struct BertNormalizer {
  bool cleans = true, sets_han_apart = true, leaves_out_accents = true, lower_cases = true;

  void add_steps(std::vector<TextStep>& steps) const;
};

}  // namespace octavo
