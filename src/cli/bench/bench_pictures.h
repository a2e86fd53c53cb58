// `octavo bench --image`: measures how long a model's encoder takes for pictures of some sizes, with nothing else
// running. Driven by the command's thread.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/bench/bench_options.h"
#include "cli/terminal/interrupt.h"

namespace octavo::cli {

/// A size with all its measurements, at least one.
struct PictureRow {
  PictureSize size;                    // the picture's
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

/// Measures each size `repeat` times, in rounds, into the report, which has the machine already. False: Ctrl-C. Errors:
/// the model has no encoder; those of loading it.
Result<bool> measure_pictures(const BenchOptions& options, const EngineOptions& engine, const InterruptGuard& guard,
                              Context& context, PictureReport& report);

std::string to_text(const PictureReport& report, BenchFormat format);

}  // namespace octavo::cli
