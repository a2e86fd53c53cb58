// How a file describes recurrent layers.
#pragma once

#include "model/architectures/model_keys.h"

namespace octavo {

/// No head's state has more rows or columns.
inline constexpr int kMaxStateDim = 1024;

/// Error: a head's state would have more than kMaxStateDim in a direction, which the key says.
Result<void> check_state_dim(const ModelKeys& keys, std::string_view suffix, int dim);
/// Tokens that a short convolution sees: 2 to kMaxConvolutionTaps.
Result<int> read_taps(const ModelKeys& keys, std::string_view suffix);
/// The Mamba-2 of all layers that have one.
Result<MambaSpec> read_mamba(const ModelKeys& keys);

// Of hybrids whose layers without KV heads are recurrent.

/// Error: none of the layers attends, by the numbers of their KV heads.
Result<void> expect_attention(const ModelKeys& keys, const std::vector<int>& kv_heads);
/// Error: a layer that attends has no heads.
Result<void> expect_heads(const ModelKeys& keys, int num_heads, int num_kv_heads);

}  // namespace octavo
