#include "cli/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "cli/bench/bench_profile.h"
#include "cli/terminal/parse.h"

namespace octavo::cli {
namespace {

std::string describe(const BenchCase& c) {
  std::string text = fmt::format("{} of {} tokens", c.name(), c.is_prefill ? c.prompt : c.gen);
  if (c.batch > 1) text += fmt::format(", {} sequences", c.batch);
  if (c.depth > 0) text += fmt::format(", depth {}", c.depth);
  if (c.shared > 0) text += fmt::format(", {} shared", c.shared);
  return text;
}

std::string device_line(const BenchReport& report) {
  if (!report.device) return {};
  return fmt::format("{}: reads {:.1f} GB/s, copies {:.1f} GB/s\n", report.model.device,
                     report.device->read_bytes_per_s / 1e9, report.device->copy_bytes_per_s / 1e9);
}

/// The share of the device's read rate that a row reaches.
double device_share(const BenchRow& row, const BenchReport& report) {
  return figures_of(row, report.machine).gb_per_s * 1e9 / report.device->read_bytes_per_s;
}

/// Whether shares of a device's read rate mean something: all bytes are read there.
bool has_device_shares(const BenchReport& report) { return report.device && report.model.device_has_all; }

std::string to_markdown(const BenchReport& report) {
  std::string out = machine_line(report.machine) + device_line(report);
  out += fmt::format("{} ({}), {} of weights, loaded in {:.2f} s, KV {} {}\n\n", escaped(report.model.name),
                     report.model.architecture, format_bytes(report.model.weight_bytes), report.load_s, report.kv_type,
                     report.kv_layout);
  const bool has_shares = has_device_shares(report);
  out += fmt::format(
      "| test | prompt | gen | batch | depth | shared | tokens/s | spread | GB/s | of memory | GOPS | of compute | "
      "limit |{}\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|{}\n",
      has_shares ? " of the card's memory |" : "", has_shares ? "---:|" : "");
  for (const BenchRow& row : report.rows) {
    const BenchFigures f = figures_of(row, report.machine);
    const std::string spread = row.runs.size() > 1 ? fmt::format("{:.1f} %", 100 * f.spread) : "-";
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {:.2f} | {} | {:.1f} | {:.0f} % | {:.1f} | {:.0f} % | {} |",
                       row.c.name(), row.c.prompt, row.c.gen, row.c.batch, row.c.depth, row.c.shared, f.tokens_per_s,
                       spread, f.gb_per_s, 100 * f.memory_share, f.gops, 100 * f.compute_share,
                       f.bound_by_memory ? "memory" : "compute");
    out += has_shares ? fmt::format(" {:.0f} % |\n", 100 * device_share(row, report)) : "\n";
  }
  if (report.profile)
    for (const BenchRow& row : report.rows) out += fmt::format("\n{}, {}", describe(row.c), profile_table(row));
  const std::vector<std::string> lines = warnings(report);
  if (!lines.empty()) out += '\n';
  for (const std::string& line : lines) out += line + '\n';
  return out;
}

std::string to_csv(const BenchReport& report) {
  std::string out =
      "test,prompt,gen,batch,depth,shared_prefix,tokens_per_s,spread,gb_per_s,gops,memory_share,compute_share,share,"
      "limit";
  const bool has_shares = has_device_shares(report);
  out += has_shares ? ",device_memory_share\n" : "\n";
  for (const BenchRow& row : report.rows) {
    const BenchFigures f = figures_of(row, report.machine);
    out +=
        fmt::format("{},{},{},{},{},{},{:.6g},{:.4f},{:.6g},{:.6g},{:.4f},{:.4f},{:.4f},{}", row.c.name(), row.c.prompt,
                    row.c.gen, row.c.batch, row.c.depth, row.c.shared, f.tokens_per_s, f.spread, f.gb_per_s, f.gops,
                    f.memory_share, f.compute_share, f.share, f.bound_by_memory ? "memory" : "compute");
    out += has_shares ? fmt::format(",{:.4f}\n", device_share(row, report)) : "\n";
  }
  return out;
}

boost::json::object to_json(const BenchRow& row, const BenchReport& report) {
  const BenchFigures f = figures_of(row, report.machine);
  boost::json::array seconds;
  for (const BenchRun& run : row.runs) seconds.push_back(run.seconds);
  boost::json::object result{{"test", row.c.name()},
                             {"prompt", row.c.prompt},
                             {"gen", row.c.gen},
                             {"batch", row.c.batch},
                             {"depth", row.c.depth},
                             {"shared_prefix", row.c.shared},
                             {"tokens_per_s", f.tokens_per_s},
                             {"spread", f.spread},
                             {"trusted", row.runs.size() > 1 && f.spread <= kWidestSpread},
                             {"gb_per_s", f.gb_per_s},
                             {"gops", f.gops},
                             {"memory_share", f.memory_share},
                             {"compute_share", f.compute_share},
                             {"share", f.share},
                             {"limit", f.bound_by_memory ? "memory" : "compute"},
                             {"seconds", std::move(seconds)}};
  if (has_device_shares(report)) result["device_memory_share"] = device_share(row, report);
  if (report.profile) {
    result["profile"] = profile_json(row);
    result["profile_threads"] = row.runs.back().threads;
  }
  return result;
}

std::string to_json(const BenchReport& report) {
  boost::json::array results;
  for (const BenchRow& row : report.rows) results.push_back(to_json(row, report));
  boost::json::object out{{"machine", machine_json(report.machine)},
                          {"model",
                           {{"file", to_valid_utf8(report.model_file)},
                            {"name", to_valid_utf8(report.model.name)},
                            {"architecture", report.model.architecture},
                            {"weight_bytes", report.model.weight_bytes},
                            {"load_s", report.load_s},
                            {"kv_type", report.kv_type},
                            {"kv_layout", report.kv_layout},
                            {"bits", report.bits}}},
                          {"results", std::move(results)}};
  if (report.device)
    out["device"] = {{"name", report.model.device},
                     {"has_all", report.model.device_has_all},
                     {"read_gb_per_s", report.device->read_bytes_per_s / 1e9},
                     {"copy_gb_per_s", report.device->copy_bytes_per_s / 1e9}};
  return boost::json::serialize(out) + '\n';
}

}  // namespace

std::string machine_line(const MachineLimits& m) {
  return fmt::format("{}, {} threads, isa {}: reads {:.1f} GB/s, {:.0f} int8 GOPS, {:.1f} float GFLOPS\n", m.cpu,
                     m.num_threads, m.isa, m.read_bytes_per_s / 1e9, m.int8_ops_per_s / 1e9, m.float_ops_per_s / 1e9);
}

boost::json::object machine_json(const MachineLimits& m) {
  return {{"cpu", m.cpu},
          {"isa", m.isa},
          {"threads", m.num_threads},
          {"read_gb_per_s", m.read_bytes_per_s / 1e9},
          {"int8_gops", m.int8_ops_per_s / 1e9},
          {"float_gflops", m.float_ops_per_s / 1e9}};
}

std::string spread_warning(const std::string& row, double spread) {
  return fmt::format("{}: runs differ by {:.0f} %, too much to trust the figure; quieten the machine or raise --repeat",
                     row, 100 * spread);
}

BenchFigures figures_of(const BenchRow& row, const MachineLimits& machine) {
  std::vector<const BenchRun*> by_rate;
  by_rate.reserve(row.runs.size());
  for (const BenchRun& run : row.runs) by_rate.push_back(&run);
  const auto rate = [](const BenchRun* run) { return run->tokens / run->seconds; };
  std::ranges::sort(by_rate, {}, rate);
  const BenchRun& median = *by_rate[(by_rate.size() - 1) / 2];  // for an even number, the slower one of the two
  const LeastTime least = least_time(median.work, machine);
  const double tokens_per_s = rate(&median);
  return {.tokens_per_s = tokens_per_s,
          .spread = (rate(by_rate.back()) - rate(by_rate.front())) / tokens_per_s,
          .gb_per_s = median.work.bytes / median.seconds / 1e9,
          .gops = (median.work.int8_ops + median.work.float_ops) / median.seconds / 1e9,
          .memory_share = least.memory_s / median.seconds,
          .compute_share = least.compute_s / median.seconds,
          .share = least.seconds() / median.seconds,
          .bound_by_memory = least.bound_by_memory()};
}

std::vector<std::string> warnings(const BenchReport& report) {
  std::vector<std::string> lines;
  for (const BenchRow& row : report.rows) {
    const double spread = figures_of(row, report.machine).spread;
    if (spread > kWidestSpread) lines.push_back(spread_warning(describe(row.c), spread));
  }
  return lines;
}

std::string to_text(const BenchReport& report, BenchFormat format) {
  switch (format) {
    case BenchFormat::kCsv: return to_csv(report);
    case BenchFormat::kJson: return to_json(report);
    default: return to_markdown(report);
  }
}

}  // namespace octavo::cli
