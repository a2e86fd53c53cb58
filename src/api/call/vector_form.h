// The form in which vectors and scores of texts are given. A value without behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace octavo {

/// How a vector is written. Cohere's API has all of these, OpenAI's the first two.
enum class VectorKind : std::uint8_t {
  kFloat,
  kBase64,   // little-endian floats in base64
  kBinary,   // one bit per float, 1 above 0, as bytes less 128
  kUbinary,  // one bit per float, 1 above 0, as bytes
};

struct VectorForm {
  std::optional<int> norm = {};  // normalize()'s argument; none: the server's, and rows of tokens stay as they are
  int dimensions = 0;            // how many of a vector's first floats are shown; 0: all
  std::vector<VectorKind> kinds = {};  // the kinds asked for, one or (in Cohere's API) several; none: floats
  std::size_t most_results = std::numeric_limits<std::size_t>::max();  // how many ranked documents, the best
  bool shows_documents = false;
  bool is_raw = false;    // scores are the model's numbers, not between 0 and 1
  bool is_plain = false;  // ranks in TEI's form: an array with nothing around it
};

}  // namespace octavo
