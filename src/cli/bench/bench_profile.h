// The parts of a row's steps and the time that each takes (`octavo bench --profile`), as a table or as JSON.
//
// Pure functions.
#pragma once

#include <boost/json/array.hpp>
#include <string>

#include "cli/bench/bench_report.h"

namespace octavo::cli {

/// A line that tells the mean step of all runs, and a table in Markdown of its parts, in the order in which a step
/// comes to them; parts that took no time are left out. Threads that wait do so for the others at a region's end, or
/// for work that one thread does alone.
std::string profile_table(const BenchRow& row);
/// The table as JSON: an object a part with `part`, `ms` (a step), `share` and `waiting` (both of 1).
boost::json::array profile_json(const BenchRow& row);

}  // namespace octavo::cli
