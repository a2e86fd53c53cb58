// The relevance of a document, as the outputs of a ranking head give it.
//
// Free functions without state; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/math.h"

namespace octavo {

/// Whether a head with so many labels ranks: one label's logit is the relevance; of two labels the first one means yes.
constexpr bool can_rank(std::size_t num_labels) { return num_labels == 1 || num_labels == 2; }

/// The logit of "relevant": that of the only label, or the first label's minus the second's, so that its sigmoid is the
/// first one's share in a softmax.
double relevance_logit(std::span<const float> scores);
/// The sigmoid of the logit, 0 to 1.
double relevance(double logit, Math math);

/// The cosine of the angle between two vectors of one width; 0 where a vector has no length.
double cosine(std::span<const float> a, std::span<const float> b);

/// The indices of the scores, the best first; of equal ones the earlier first.
std::vector<std::size_t> best_first(std::span<const double> scores);

}  // namespace octavo
