// Draws the figures of `octavo bench`: SVG 1.1, one panel for each test.
#pragma once

#include <string>

#include "cli/bench/bench_report.h"

namespace octavo::cli {

/// The drawing: tokens/s over the property that varies most among a test's rows (tokens, sequences or depth); each
/// combination of the others has a curve.
std::string to_svg(const BenchReport& report);

}  // namespace octavo::cli
