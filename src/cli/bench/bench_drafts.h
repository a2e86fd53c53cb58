// `octavo bench --draft`: measures answers with and without drafts, alternately, on texts that repeat themselves much
// or little, and with a script that guesses right at a given rate. Driven by the command's thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/bench/bench_options.h"
#include "cli/terminal/interrupt.h"

namespace octavo::cli {

/// One text: its measurements with drafts and without.
struct DraftRow {
  std::string name;
  int tokens = 0;  // the answer's tokens without the first
  int drafted = 0, right = 0;
  std::vector<double> seconds_off = {}, seconds_on = {};

  double rate_off() const;  // tokens/s without drafts, of the median
  double rate_on() const;
};

/// Measures each text `repeat` times. Fewer rows than texts: Ctrl-C. Errors: a text that does not fit; an answer that
/// changes with drafts.
Result<std::vector<DraftRow>> measure_drafts(Engine& engine, int max_tokens, int repeat, const InterruptGuard& guard);

std::string draft_table(std::span<const DraftRow> rows, BenchFormat format);

}  // namespace octavo::cli
