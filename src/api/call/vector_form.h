// The form in which vectors and scores of texts are given. A value without behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace octavo {

/// How a vector is written. Cohere's API has all of them, OpenAI's the first two.
enum class VectorKind : std::uint8_t {
  kFloat,
  kBase64,   // little-endian floats
  kBinary,   // a bit a float, 1 above 0: bytes less 128
  kUbinary,  // the bytes
};

struct VectorForm {
  std::optional<int> norm = {};  // normalize()'s; none: the server's, and the rows of a text's tokens stay as they are
  int dimensions = 0;            // floats of a vector that are shown, the first; 0: all
  std::vector<VectorKind> kinds = {};  // that were asked for, one or, of Cohere's API, several; none: floats
  std::size_t most_results = std::numeric_limits<std::size_t>::max();  // of documents that are ranked, the best
  bool shows_documents = false;
  bool is_raw = false;    // scores are the model's numbers, not between 0 and 1
  bool is_plain = false;  // ranks as TEI has them: an array and nothing around it
};

}  // namespace octavo
