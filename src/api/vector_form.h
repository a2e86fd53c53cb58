// The form in which vectors and scores of texts are given. A value without behaviour.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

namespace octavo {

struct VectorForm {
  std::optional<int> norm = {};  // normalize()'s; none: the server's, and the rows of a text's tokens stay as they are
  int dimensions = 0;            // floats of a vector that are shown, the first; 0: all
  bool is_base64 = false;        // little-endian floats in base64, not numbers
  std::size_t most_results = std::numeric_limits<std::size_t>::max();  // of documents that are ranked, the best
  bool shows_documents = false;
  bool is_raw = false;    // scores are the model's numbers, not between 0 and 1
  bool is_plain = false;  // ranks as TEI has them: an array and nothing around it
};

}  // namespace octavo
