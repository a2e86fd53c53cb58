// A picture's rows, for all sequences that have it: each row's vectors, while they are there.
//
// Made by any thread (PictureVectors::rows_of()), which also brings the picture; only the thread that drives the engine
// reads and writes the rest.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/picture.h"

namespace octavo {

struct PictureRows {
  std::shared_ptr<const PreparedPicture> picture = {};  // there while a sequence has it
  std::int32_t grid_rows = 0, grid_columns = 0;         // of tokens
  std::int32_t row_floats = 0;                          // of a token's vectors
  const float* vectors = nullptr;                       // [tokens, row_floats]; nullptr: not computed, or given up
  std::int32_t num_encoded = 0;                         // tokens, as far as their encoder has told
  double encode_s = 0;                                  // that its encoder took; 0: it has not been encoded
  bool has_failed = false;                              // they cannot be computed
};

}  // namespace octavo
