// The norms that a gated delta net has of the heads of its queries and keys. Plain values.
#pragma once

#include <cmath>

#include "model/layer_spec.h"

namespace octavo {

/// The norms of the heads of Q and K as RMSNorms whose weights are all alike: x / sqrt(sum of squares + 1e-6), and
/// queries divided by sqrt(key_dim). The 1e-6 is the makers', not the model's own epsilon.
struct DeltaNorms {
  float q_weight, k_weight, epsilon;

  explicit DeltaNorms(const DeltaSpec& spec)
      : q_weight(1 / static_cast<float>(spec.key_dim)),
        k_weight(1 / std::sqrt(static_cast<float>(spec.key_dim))),
        epsilon(1e-6F / static_cast<float>(spec.key_dim)) {}
};

}  // namespace octavo
