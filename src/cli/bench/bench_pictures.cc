#include "cli/bench/bench_pictures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>

#include "base/joined.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "cli/bench/bench_report.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "cli/terminal/progress.h"
#include "engine/load/timed_encoder.h"

namespace octavo::cli {
namespace {

std::string size_text(PictureSize size) { return fmt::format("{}x{}", size.width, size.height); }
std::string seen_text(const PictureRow& row) { return fmt::format("{}", joined(row.seen, size_text)); }

struct PictureFigures {
  double seconds = 0;  // the median run's
  double spread = 0;   // (slowest - fastest) / median
  double tokens_per_s = 0, gops = 0;
};

PictureFigures figures_of(const PictureRow& row) {
  std::vector<double> sorted = row.seconds;
  std::ranges::sort(sorted);
  const double median = sorted[sorted.size() / 2];  // for an even number, the slower one of the two
  return {.seconds = median,
          .spread = (sorted.back() - sorted.front()) / median,
          .tokens_per_s = row.tokens / median,
          .gops = 2 * row.multiply_adds / median / 1e9};
}

std::string to_markdown(const PictureReport& report) {
  std::string out = machine_line(report.machine);
  out += fmt::format("{} ({}), {} of weights, loaded in {:.2f} s\n\n", escaped(report.name), report.family,
                     format_bytes(report.weight_bytes), report.load_s);
  out += "| picture | seen as | tokens | seconds | spread | tokens/s | GOPS |\n|---|---|---:|---:|---:|---:|---:|\n";
  std::string warnings;
  for (const PictureRow& row : report.rows) {
    const PictureFigures f = figures_of(row);
    out += fmt::format("| {} | {} | {} | {:.3f} | {} | {:.1f} | {:.1f} |\n", size_text(row.size), seen_text(row),
                       row.tokens, f.seconds, row.seconds.size() > 1 ? fmt::format("{:.1f} %", 100 * f.spread) : "-",
                       f.tokens_per_s, f.gops);
    if (f.spread > kWidestSpread) warnings += fmt::format("{}\n", spread_warning(size_text(row.size), f.spread));
  }
  return warnings.empty() ? out : out + '\n' + warnings;
}

std::string to_csv(const PictureReport& report) {
  std::string out = "picture,seen_as,tokens,seconds,spread,tokens_per_s,gops\n";
  for (const PictureRow& row : report.rows) {
    const PictureFigures f = figures_of(row);
    out += fmt::format("{},\"{}\",{},{:.6g},{:.4f},{:.6g},{:.6g}\n", size_text(row.size), seen_text(row), row.tokens,
                       f.seconds, f.spread, f.tokens_per_s, f.gops);
  }
  return out;
}

std::string to_json(const PictureReport& report) {
  boost::json::array results;
  for (const PictureRow& row : report.rows) {
    const PictureFigures f = figures_of(row);
    boost::json::array seen;
    for (const PictureSize& size : row.seen) seen.push_back({{"width", size.width}, {"height", size.height}});
    results.push_back({{"test", "picture"},
                       {"width", row.size.width},
                       {"height", row.size.height},
                       {"seen", std::move(seen)},
                       {"tokens", row.tokens},
                       {"median_s", f.seconds},
                       {"spread", f.spread},
                       {"trusted", row.seconds.size() > 1 && f.spread <= kWidestSpread},
                       {"tokens_per_s", f.tokens_per_s},
                       {"gops", f.gops},
                       {"seconds", boost::json::array(row.seconds.begin(), row.seconds.end())}});
  }
  return boost::json::serialize(boost::json::object{{"machine", machine_json(report.machine)},
                                                    {"encoder",
                                                     {{"file", to_valid_utf8(report.file)},
                                                      {"name", to_valid_utf8(report.name)},
                                                      {"family", report.family},
                                                      {"weight_bytes", report.weight_bytes},
                                                      {"load_s", report.load_s},
                                                      {"bits", report.bits}}},
                                                    {"results", std::move(results)}}) +
         '\n';
}

}  // namespace

Result<bool> measure_pictures(const BenchOptions& options, const EngineOptions& engine, const InterruptGuard& guard,
                              Context& context, PictureReport& report) {
  const auto start = std::chrono::steady_clock::now();
  OCTAVO_TRY(const std::unique_ptr<TimedEncoder> encoder, TimedEncoder::load(engine));
  report.load_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.file = encoder->file_name();
  report.name = encoder->config().name;
  report.family = encoder->config().family;
  report.weight_bytes = encoder->weight_bytes();
  std::vector<PictureLayout> layouts;
  for (const PictureSize size : options.pictures) {
    const PictureLayout& layout = layouts.emplace_back(encoder->layout(size));
    PictureRow& row = report.rows.emplace_back(PictureRow{.size = size, .tokens = layout.num_tokens()});
    for (const PictureTile& tile : layout.tiles) row.seen.push_back(tile.size);
  }
  ProgressBar bar(context.err, "measuring");
  const std::size_t num_rows = layouts.size(), num_runs = num_rows * (to_size(options.repeat) + 1);
  for (std::size_t run = 0; run < num_runs; ++run) {
    bar.update(run, num_runs);
    PictureRow& row = report.rows[run % num_rows];
    OCTAVO_TRY(const auto encoded, encoder->encode(layouts[run % num_rows], [&] { return guard.interrupted(); }));
    if (!encoded) return false;
    row.multiply_adds = static_cast<double>(encoded->multiply_adds);
    if (run >= num_rows) row.seconds.push_back(encoded->seconds);  // the first round warms the machine up
  }
  return true;
}

std::string to_text(const PictureReport& report, BenchFormat format) {
  switch (format) {
    case BenchFormat::kCsv: return to_csv(report);
    case BenchFormat::kJson: return to_json(report);
    default: return to_markdown(report);
  }
}

}  // namespace octavo::cli
