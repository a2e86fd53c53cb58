// octavo convert: writes a folder of safetensors as one GGUF file.
#include "cli/commands.h"
#include "cli/options/options.h"
#include "cli/write_model.h"

namespace octavo::cli {
namespace {

struct ConvertOptions {
  WriteOptions write;
  std::optional<TypeMix> mix;  // none: the type that the model has
};

Result<void> take_words(const std::vector<std::string>& words, ConvertOptions& options) {
  if (words.size() != 2) return fail("found {} words, expected two: FOLDER OUT.gguf", words.size());
  options.write.in = words[0];
  options.write.out = words[1];
  return {};
}

Result<int> convert(const ConvertOptions& options, const Context& context) {
  OCTAVO_TRY(const auto source, open_input(options.write, context));
  const std::optional<TypeMix> mix = options.mix ? options.mix : float_mix_of(*source);
  if (!mix) return fail("{}: its weights are quantized; octavo quantize writes it with other types", source->name());
  QuantizeOptions request;
  request.types = {.mix = *mix, .keep_quantized = true};  // the experts of gpt-oss
  return write_model(*source, options.write, std::move(request), context);
}

}  // namespace

void add_convert_command(Program& program, Context& context) {
  auto options = std::make_shared<ConvertOptions>();
  Command& command = program.add_command("convert", "Writes a folder of safetensors as one GGUF file");
  command.accept_words("FOLDER OUT.gguf");
  command.footer(
      "FOLDER is a model as Hugging Face's tools save it: config.json, safetensors,\n"
      "tokenizer.json. octavo run -m FOLDER runs it as it is; a GGUF file is for other\n"
      "programs, and for quantizing once. llama.cpp reads files of text models.\n\n"
      "Examples:\n"
      "  octavo convert Qwen3-0.6B qwen3-0.6b.gguf\n"
      "  octavo convert Qwen3-0.6B qwen3-0.6b-q4_k_m.gguf --type Q4_K_M");
  add_parsed(
      command, "--type", "TYPE", parse_type_mix, [options](TypeMix mix) { options->mix = mix; },
      "The type of most weights, as octavo quantize takes it; default: the one that they have");
  add_write_options(command, options->write);
  add_log_level_option(command, context);
  command.on_parsed([&command, options] { return take_words(command.words(), *options); });
  command.action([options, &context] { return convert(*options, context); });
}

}  // namespace octavo::cli
