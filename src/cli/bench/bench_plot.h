// The figures of `octavo bench` as a drawing: SVG 1.1, one panel for each test.
#pragma once

#include <string>

#include "cli/bench/bench_report.h"

namespace octavo::cli {

/// Tokens/s over what varies most among a test's rows: tokens, sequences or depth; a curve for each of the others.
std::string to_svg(const BenchReport& report);

}  // namespace octavo::cli
