// The numbers that a ranking head gives as the relevance of a document.
//
// Free functions without state; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/math.h"

namespace octavo {

/// The heads that rank: those of one label, its logit, and those of two, of which the first says yes.
constexpr bool can_rank(std::size_t num_labels) { return num_labels == 1 || num_labels == 2; }

/// The logit of "relevant": that of the one label, or how far the first of two is above the second, so that its sigmoid
/// is the first one's share of a softmax.
double relevance_logit(std::span<const float> scores);
/// Its sigmoid, 0 to 1.
double relevance(double logit, Math math);

/// The cosine of the angle between two vectors of one width; 0 where one of them has no length.
double cosine(std::span<const float> a, std::span<const float> b);

/// The numbers of the scores, the best first; of equal ones the earlier.
std::vector<std::size_t> best_first(std::span<const double> scores);

}  // namespace octavo
