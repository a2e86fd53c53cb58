// The interface of an encoder of pictures: one picture at a time, in pieces.
//
// Owned by the engine; one thread at a time.
#pragma once

#include <cstdint>
#include <span>

#include "octavo/result.h"
#include "vision/prepared_picture.h"

namespace octavo {

class PictureEncoder {
 public:
  virtual ~PictureEncoder() = default;

  /// The floats of a token's row.
  virtual int row_floats() const = 0;
  /// Begins a picture, and gives up the one before. `out`: [tokens, row_floats()]; both must outlive its last piece.
  /// Error: there is no memory.
  virtual Result<void> begin(const PreparedPicture& picture, std::span<float> out) = 0;
  /// Computes the next piece, of about `most_work` multiply-adds, in a step of the pool. Returns its work; 0: all is
  /// done.
  virtual std::uint64_t compute(std::uint64_t most_work) = 0;
  /// The share of the picture's work that is done, 0 to 1.
  virtual double done_share() const = 0;
  /// Frees the memory of the picture.
  virtual void end() = 0;

 protected:
  PictureEncoder() = default;
  PictureEncoder(const PictureEncoder&) = default;
  PictureEncoder& operator=(const PictureEncoder&) = default;
};

}  // namespace octavo
