// The rows of a picture, shared by all sequences that have it: the vectors of each row, while they are there.
//
// Made by any thread (PictureVectors::rows_of()), which also brings the picture; only the thread that drives the engine
// reads and writes the rest.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/picture.h"

namespace octavo {

struct PictureRows {
  std::shared_ptr<const PreparedPicture> picture = {};  // set while a sequence has it
  std::int32_t grid_rows = 0, grid_columns = 0;         // in tokens
  std::int32_t row_floats = 0;                          // the floats of a token's vectors
  bool ends_picture = true;                             // no further tile of the same picture follows
  const float* vectors = nullptr;                       // [tokens, row_floats]; null: not computed, or given up
  std::int32_t num_encoded = 0;                         // in tokens, as far as the encoder has told
  double encode_s = 0;                                  // the encoder's time; 0: it has not encoded it
  bool has_failed = false;                              // the vectors cannot be computed
};

}  // namespace octavo
