// The figures of `octavo bench` and their three forms: Markdown, CSV, JSON.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/bench_options.h"
#include "cli/bench/bench_runs.h"

namespace octavo::cli {

/// One row: a case with all its measurements, at least one.
struct BenchRow {
  BenchCase c;
  std::vector<BenchRun> runs = {};
};

/// The figures of a row; rates by the median of its times.
struct BenchFigures {
  double tokens_per_s = 0;
  double spread = 0;                           // of the rates: (highest - lowest) / median; 0 for a single run
  double gb_per_s = 0;                         // 10^9 bytes that had to be read
  double gops = 0;                             // 10^9 int8 and float operations
  double memory_share = 0, compute_share = 0;  // of the machine's rates: least time over time taken
  double share = 0;                            // the larger: how near this is to the machine's limit
  bool bound_by_memory = false;
};
BenchFigures figures_of(const BenchRow& row, const MachineLimits& machine);

/// Rows whose rates differ by more than this are not to be trusted.
inline constexpr double kWidestSpread = 0.10;

struct BenchReport {
  MachineLimits machine;
  std::optional<DeviceRates> device = {};  // of the device beside the processor that computes layers
  ModelInfo model;
  std::string model_file;
  std::string kv_type, kv_layout, bits;
  bool profile = false;  // the runs have one
  double load_s = 0;     // from opening the file to an engine that is ready
  std::vector<BenchRow> rows;
};

std::string to_text(const BenchReport& report, BenchFormat format);

/// The machine, as a line, and as an object.
std::string machine_line(const MachineLimits& machine);
boost::json::object machine_json(const MachineLimits& machine);
/// The warning that the runs of a row differ by so much.
std::string spread_warning(const std::string& row, double spread);

/// Warnings about the figures, one line each: rows that spread too much. Empty: none.
std::vector<std::string> warnings(const BenchReport& report);

}  // namespace octavo::cli
