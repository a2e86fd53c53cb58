#include "cli/write_model.h"

#include <spdlog/logger.h>

#include <ostream>

#include "base/cpu_info.h"
#include "base/joined.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "cli/terminal/transfer_bar.h"
#include "convert/gguf_words.h"
#include "source/open_model.h"

namespace octavo::cli {
namespace {

void warn(const QuantizeReport& report, const GgufWords& words, const Context& context) {
  for (const auto& [cols, count] : report.fell_back)
    context.log->warn(
        "{} tensors have rows of {} weights, which are no whole blocks of their type: a type of smaller blocks takes "
        "its place",
        count, cols);
  if (report.without_importance > 0)
    context.log->warn("the file of importance says nothing about {} of the tensors that were quantized",
                      report.without_importance);
  if (!words.why_kept().empty())
    context.log->warn("the words stay a tokenizer.json, which llama.cpp does not read: {}", words.why_kept());
}

void print_report(const QuantizeReport& report, const std::string& path, std::ostream& out) {
  const std::string types = joined(
      report.tensors, [](const auto& row) { return fmt::format("{} {}", row.second, dtype_info(row.first).name); });
  const double bits = 8.0 * static_cast<double>(report.bytes) / static_cast<double>(report.num_weights);
  out << fmt::format("{}\n  {}, {:.2f} bits a weight; tensors: {}\n", path, format_bytes(report.bytes), bits, types)
      << std::flush;
}

}  // namespace

void add_write_options(Command& command, WriteOptions& options) {
  command.add_flag("--force", options.force, "OUT is replaced if it is there");
  add_integer(command, "-t,--threads", options.num_threads, 1, kMaxThreads,
              "Threads; default: one for each physical core, within a container's quota");
}

Result<std::unique_ptr<const ModelSource>> open_input(const WriteOptions& options, const Context& context) {
  OCTAVO_TRY(const std::filesystem::path path, resolve_model(options.in, context));
  return open_model(path);
}

Result<int> write_model(const ModelSource& source, const WriteOptions& options, QuantizeOptions request,
                        const Context& context) {
  OCTAVO_TRY(const GgufWords words, GgufWords::of(source));
  request.overwrite = options.force;
  request.add_keys = [&](GgufHead& head) { words.add_keys(head); };
  TransferBar bar(context.err);
  request.on_progress = [&](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
  ThreadPool pool(options.num_threads > 0 ? options.num_threads : default_threads());
  const auto report = quantize_model(words.source(), options.out, request, pool);
  bar.clear();
  if (!report) return std::unexpected(report.error());
  warn(*report, words, context);
  print_report(*report, options.out, context.out);
  return finish_output(context);
}

}  // namespace octavo::cli
