// The parts of a row's steps and their times (`octavo bench --profile`), as a table or as JSON.
//
// Pure functions.
#pragma once

#include <boost/json/array.hpp>
#include <string>

#include "cli/bench/bench_report.h"

namespace octavo::cli {

/// A line about the mean step of all runs, and a table in Markdown of its parts, in the order of a step, without parts
/// that took no time. Threads wait for the others at the end of a region, or for work that one thread does alone.
std::string profile_table(const BenchRow& row);
/// The table as JSON: for each part an object with `part`, `ms` (per step), `share` and `waiting` (both from 0 to 1).
boost::json::array profile_json(const BenchRow& row);

}  // namespace octavo::cli
