// The memory that libwebp takes for the codes of a lossless picture.
//
// A lossless picture may have a group of prefix codes for each square of 4 pixels, up to 65,536 of them, and libwebp
// makes tables of 12 to 20 kB for each. A group is written in 20 bits: 300 kB of a file become 800 MB of tables. How
// many groups there are stands in a small picture inside, which has to be decoded to know.
#pragma once

#include <cstddef>
#include <optional>

#include "vision/byte_view.h"
#include "vision/picture.h"

namespace octavo {

/// The most memory for the tables of a chunk "VP8L", in bytes. None: the chunk is damaged.
std::optional<std::size_t> lossless_table_bytes(ByteView chunk);

/// The most memory for the tables of a chunk "ALPH", the transparency of a lossy picture of `size`, in bytes. None: the
/// chunk is damaged.
std::optional<std::size_t> alpha_table_bytes(ByteView chunk, PictureSize size);

}  // namespace octavo
