// How a file describes a mixture of experts.
#pragma once

#include "model/architectures/model_keys.h"

namespace octavo {

/// No model has as many experts in a layer, nor sends a row to so many.
inline constexpr int kMostExperts = 4096, kMostChosenExperts = 64;

/// Files without experts may say that there are none.
Result<bool> has_experts(const ModelKeys& keys);

/// The mixture of a layer whose experts have `width` units. Keys that would change what it computes, and that no
/// supported family has, are refused.
Result<ExpertsFfnSpec> read_experts(const ModelKeys& keys, int width);

}  // namespace octavo
