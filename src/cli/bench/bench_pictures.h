// `octavo bench --image`: how long the encoder of a model takes for pictures of some sizes, with nothing beside it.
// Driven by the command's thread.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/bench/bench_options.h"
#include "cli/terminal/interrupt.h"

namespace octavo::cli {

/// One size with all its measurements, at least one.
struct PictureRow {
  PictureSize size;                    // of the picture
  std::vector<PictureSize> seen = {};  // the sizes at which the encoder reads it
  int tokens = 0;
  double multiply_adds = 0;
  std::vector<double> seconds = {};
};

struct PictureReport {
  MachineLimits machine;
  std::string file, name, family, bits;
  std::uint64_t weight_bytes = 0;
  double load_s = 0;
  std::vector<PictureRow> rows = {};
};

/// Measures each size `repeat` times, round by round, into the report, whose machine is known. False after Ctrl-C.
/// Errors: the model has no encoder; those of loading it.
Result<bool> measure_pictures(const BenchOptions& options, const EngineOptions& engine, const InterruptGuard& guard,
                              Context& context, PictureReport& report);

std::string to_text(const PictureReport& report, BenchFormat format);

}  // namespace octavo::cli
