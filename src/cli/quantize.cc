// octavo quantize: writes a model with smaller types of weights.
#include <spdlog/logger.h>

#include <filesystem>
#include <ostream>

#include "base/cpu_info.h"
#include "cli/commands.h"
#include "cli/find_model.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/transfer_bar.h"
#include "convert/quantize_model.h"
#include "source/open_model.h"

namespace octavo::cli {
namespace {

struct QuantizeCommandOptions {
  std::string in, out, imatrix;
  TypeMix mix{};
  bool pure = false, allow_requantize = false, force = false;
  std::vector<TypeOverride> overrides;
  int num_threads = 0;
};

Result<void> take_words(const std::vector<std::string>& words, QuantizeCommandOptions& options) {
  if (words.size() != 3) return fail("found {} words, expected three: IN OUT TYPE", words.size());
  options.in = words[0];
  options.out = words[1];
  const auto mix = find_type_mix(words[2]);
  if (!mix) return fail("found type '{}', expected one of {}", words[2], type_mix_names());
  options.mix = *mix;
  return {};
}

void print_report(const QuantizeReport& report, const std::string& path, const Context& context) {
  for (const auto& [cols, count] : report.fell_back)
    context.log->warn(
        "{} tensors have rows of {} weights, which are no whole blocks of their type: a type of smaller "
        "blocks takes its place",
        count, cols);
  if (report.without_importance > 0)
    context.log->warn("the file of importance says nothing about {} of the tensors that were quantized",
                      report.without_importance);
  std::string types;
  for (const auto& [type, count] : report.tensors) {
    if (!types.empty()) types += ", ";
    types += fmt::format("{} {}", count, dtype_info(type).name);
  }
  const double bits = 8.0 * static_cast<double>(report.bytes) / static_cast<double>(report.num_weights);
  context.out << fmt::format("{}\n  {}, {:.2f} bits a weight; tensors: {}\n", path, format_bytes(report.bytes), bits,
                             types)
              << std::flush;
}

Result<int> quantize(const QuantizeCommandOptions& options, const Context& context) {
  OCTAVO_TRY(const std::filesystem::path in, resolve_model(options.in, context));
  OCTAVO_TRY(const auto source, open_model(in));
  QuantizeOptions request{.types = {.mix = options.mix, .pure = options.pure, .overrides = options.overrides},
                          .allow_requantize = options.allow_requantize,
                          .overwrite = options.force};
  std::optional<Importance> importance;
  if (!options.imatrix.empty()) {
    OCTAVO_TRY(importance, Importance::load(options.imatrix));
    request.importance = &*importance;
    request.importance_name = std::filesystem::path(options.imatrix).filename().string();
  }
  TransferBar bar(context.err, context.err_is_terminal);
  request.on_progress = [&](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
  ThreadPool pool(options.num_threads > 0 ? options.num_threads : default_threads());
  const auto report = quantize_model(*source, options.out, request, pool);
  bar.clear();
  if (!report) return std::unexpected(report.error());
  print_report(*report, options.out, context);
  if (!context.out) return fail("cannot write to the standard output");
  return kDone;
}

}  // namespace

void add_quantize_command(Program& program, Context& context) {
  auto options = std::make_shared<QuantizeCommandOptions>();
  Command& command = program.add_command("quantize", "Writes a model with smaller types of weights");
  command.accept_words("IN OUT.gguf TYPE");
  command.footer(
      "IN is a model as -m takes it, best in F32, F16 or BF16. TYPE is F32, F16, BF16,\n"
      "Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q6_K, or a mix of types: Q4_K_S, Q4_K_M, Q5_K_S,\n"
      "Q5_K_M (also called Q4_K and Q5_K). Of any type but the floats, tensors that\n"
      "matter more get a larger one, as llama.cpp does it; --pure leaves that out.\n"
      "Norms, biases and routers keep their types. OUT gets its name when all of it is\n"
      "written. llama.cpp reads it, too.\n\n"
      "Examples:\n"
      "  octavo quantize model-bf16.gguf model-q4_k_m.gguf Q4_K_M\n"
      "  octavo quantize in.gguf out.gguf Q4_0 --tensor-type 'ffn_down=Q6_K'\n"
      "  octavo quantize in.gguf out.gguf Q4_K_M --imatrix imatrix.gguf");
  add_parsed(
      command, "--tensor-type", "PATTERN=TYPE", TypeOverride::parse,
      [options](TypeOverride given) { options->overrides.push_back(std::move(given)); },
      "The type of the tensors in whose names this regular expression is found; of several that match, the first "
      "counts")
      ->repeatable();
  command
      .add_option("--imatrix", options->imatrix,
                  "How much each column counts: a file of llama-imatrix, as GGUF or .dat")
      ->type_name("FILE")
      ->check(refuse_empty);
  command.add_flag("--pure", options->pure, "All matrices get TYPE itself");
  command.add_flag("--allow-requantize", options->allow_requantize,
                   "Also weights that are quantized already: they lose twice");
  command.add_flag("--force", options->force, "OUT is replaced if it is there");
  add_integer(command, "-t,--threads", options->num_threads, 1, kMaxThreads,
              "Threads; default: one for each physical core, within a container's quota");
  add_log_level_option(command, context);
  command.on_parsed([&command, options] { return take_words(command.words(), *options); });
  command.action([options, &context] { return quantize(*options, context); });
}

}  // namespace octavo::cli
