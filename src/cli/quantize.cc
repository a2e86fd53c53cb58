// octavo quantize: writes a model with smaller types of weights.
#include <filesystem>

#include "cli/commands.h"
#include "cli/options/options.h"
#include "cli/write_model.h"

namespace octavo::cli {
namespace {

struct QuantizeCommandOptions {
  WriteOptions write;
  std::string imatrix;
  TypeMix mix{};
  bool pure = false, allow_requantize = false;
  std::vector<TypeOverride> overrides;
};

Result<void> take_words(const std::vector<std::string>& words, QuantizeCommandOptions& options) {
  if (words.size() != 3) return fail("found {} words, expected three: IN OUT TYPE", words.size());
  options.write.in = words[0];
  options.write.out = words[1];
  OCTAVO_TRY(options.mix, parse_type_mix(words[2]));
  return {};
}

Result<int> quantize(const QuantizeCommandOptions& options, const Context& context) {
  OCTAVO_TRY(const auto source, open_input(options.write, context));
  QuantizeOptions request{.types = {.mix = options.mix, .pure = options.pure, .overrides = options.overrides},
                          .allow_requantize = options.allow_requantize};
  std::optional<Importance> importance;
  if (!options.imatrix.empty()) {
    OCTAVO_TRY(importance, Importance::load(options.imatrix));
    request.importance = &*importance;
    request.importance_name = std::filesystem::path(options.imatrix).filename().string();
  }
  return write_model(*source, options.write, std::move(request), context);
}

}  // namespace

void add_quantize_command(Program& program, Context& context) {
  auto options = std::make_shared<QuantizeCommandOptions>();
  Command& command = program.add_command("quantize", "Writes a model with smaller types of weights");
  command.accept_words("IN OUT.gguf TYPE");
  command.footer(
      "IN is a model as -m takes it, best in F32, F16 or BF16. TYPE is F32, F16, BF16,\n"
      "Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q6_K, Q2_0 (for weights that were trained to be\n"
      "ternary), or a mix of types: Q4_K_S, Q4_K_M, Q5_K_S, Q5_K_M (also called Q4_K\n"
      "and Q5_K). Of any type but the floats, tensors that matter more get a larger\n"
      "one, as llama.cpp does it; --pure leaves that out.\n"
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
  add_write_options(command, options->write);
  add_log_level_option(command, context);
  command.on_parsed([&command, options] { return take_words(command.words(), *options); });
  command.action([options, &context] { return quantize(*options, context); });
}

}  // namespace octavo::cli
