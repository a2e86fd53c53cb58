// How a file says that heads are rotated by position.
#pragma once

#include <optional>

#include "model/architectures/model_keys.h"

namespace octavo {

/// How many dimensions of a head are rotated; all where the file lacks the key.
Result<int> read_num_rotated(const ModelKeys& keys, std::string_view suffix, int head_dim);

/// The rotation of an attention's heads, whose dimensions are known. `default_base`: for families whose files leave
/// rope.freq_base out; none: it must be there.
Result<RopeSpec> read_rope(const ModelKeys& keys, int head_dim, std::optional<double> default_base);

/// The rotation of a layer with a window: the layer's, but for a base and a number of dimensions of its own where the
/// file has them.
Result<RopeSpec> read_windowed_rope(const ModelKeys& keys, const AttentionSpec& attention);

/// The pairs of a rotation that pictures turn by their rows and columns, where the file says it
/// (rope.dimension_sections). Error: no three or four numbers of pairs.
Result<void> read_rope_sections(const ModelKeys& keys, bool is_interleaved, RopeSpec& rope);

}  // namespace octavo
