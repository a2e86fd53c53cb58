// The figures of `octavo bench` and their three forms: Markdown, CSV, JSON.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/bench_options.h"
#include "cli/bench/bench_runs.h"

namespace octavo::cli {

/// A row: a case with all its measurements, at least one.
struct BenchRow {
  BenchCase c;
  std::vector<BenchRun> runs = {};
};

/// The figures of a row; rates are those of its median time.
struct BenchFigures {
  double tokens_per_s = 0;
  double spread = 0;                           // (highest rate - lowest) / median; 0 for a single run
  double gb_per_s = 0;                         // in 10^9 bytes per second, of what had to be read
  double gops = 0;                             // in 10^9 operations per second, int8 and float
  double memory_share = 0, compute_share = 0;  // shares of the machine's limits: least time over time taken
  double share = 0;                            // the larger one: how near the row is to the machine's limit
  bool bound_by_memory = false;
};
BenchFigures figures_of(const BenchRow& row, const MachineLimits& machine);

/// The largest spread at which the rates of a row are to be trusted.
inline constexpr double kWidestSpread = 0.10;

struct BenchReport {
  MachineLimits machine;
  std::optional<DeviceRates> device = {};  // the device besides the processor that computes layers
  ModelInfo model;
  std::string model_file;
  std::string kv_type, kv_layout, bits;
  bool profile = false;  // the runs have profiles
  double load_s = 0;     // from opening the file until the engine is ready
  std::vector<BenchRow> rows;
};

std::string to_text(const BenchReport& report, BenchFormat format);

/// The machine as a line of text, and as an object.
std::string machine_line(const MachineLimits& machine);
boost::json::object machine_json(const MachineLimits& machine);
/// The warning about a row whose runs differ by `spread`.
std::string spread_warning(const std::string& row, double spread);

/// Warnings about the figures, one line each: rows that spread too much. Empty: none.
std::vector<std::string> warnings(const BenchReport& report);

}  // namespace octavo::cli
