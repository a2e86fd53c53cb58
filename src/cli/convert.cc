// octavo convert: writes a folder of safetensors as one GGUF file, and its encoder of pictures as another.
#include <spdlog/logger.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/write_model.h"
#include "convert/break_row.h"
#include "convert/gguf_words.h"
#include "source/open_model.h"

namespace octavo::cli {
namespace {

struct ConvertOptions {
  WriteOptions write;
  std::optional<TypeMix> mix;  // none: the model's own type
  bool encoder_alone = false, no_encoder = false;
};

/// The path of the encoder's file, beside the model's.
std::string encoder_path(const std::string& out) {
  const std::filesystem::path path(out);
  return (path.parent_path() / ("mmproj-" + path.filename().string())).string();
}

Result<void> take_words(const std::vector<std::string>& words, ConvertOptions& options) {
  if (words.size() != 2) return fail("found {} words, expected two: FOLDER OUT.gguf", words.size());
  options.write.in = words[0];
  options.write.out = words[1];
  return {};
}

/// Whether encoders are published in the types of this mix.
bool suits_encoder(const TypeMix& mix) { return !is_quantized(mix.base) || mix.base == DType::kQ8_0; }

Result<int> write_encoder(const ModelSource& own, const ModelSource& model, const ConvertOptions& options,
                          const Context& context) {
  OCTAVO_TRY(const GgufWords words, GgufWords::of(model));
  OCTAVO_TRY(const auto joined, with_break_row(own, model, words.source()));
  const ModelSource& encoder = joined ? *joined : own;
  const bool is_given = options.mix && (options.encoder_alone || suits_encoder(*options.mix));
  const std::optional<TypeMix> mix = is_given ? options.mix : float_mix_of(encoder);
  if (!mix) return fail("{}: its encoder of pictures has no weights", encoder.name());
  WriteOptions write = options.write;
  if (!options.encoder_alone) write.out = encoder_path(write.out);
  QuantizeOptions request;
  request.types = {.mix = *mix};
  return write_model(encoder, write, std::move(request), context);
}

/// The folder's encoder, which is written beside the model; null: it has none that can be read.
Result<std::unique_ptr<const ModelSource>> encoder_beside(const ConvertOptions& options, const ModelSource& model,
                                                          const Context& context) {
  if (options.no_encoder || !has_encoder(model.path())) return nullptr;
  auto encoder = open_encoder(model.path());
  if (!encoder) {
    context.log->warn("no encoder of pictures is written: {}", encoder.error().message);
    return nullptr;
  }
  std::error_code ignored;
  const std::string out = encoder_path(options.write.out);
  if (!options.write.force && std::filesystem::exists(out, ignored))
    return fail("{}: it is there, and would have the encoder of pictures; --force replaces it, --no-mmproj writes none",
                out);
  return encoder;
}

Result<int> convert(const ConvertOptions& options, const Context& context) {
  if (options.encoder_alone) {
    OCTAVO_TRY(const std::filesystem::path path, resolve_model(options.write.in, context));
    OCTAVO_TRY(const auto encoder, open_encoder(path));
    OCTAVO_TRY(const auto model, open_model(path));
    return write_encoder(*encoder, *model, options, context);
  }
  OCTAVO_TRY(const auto source, open_input(options.write, context));
  OCTAVO_TRY(const auto encoder, encoder_beside(options, *source, context));
  const std::optional<TypeMix> mix = options.mix ? options.mix : float_mix_of(*source);
  if (!mix) return fail("{}: its weights are quantized; octavo quantize writes it with other types", source->name());
  QuantizeOptions request;
  request.types = {.mix = *mix, .keep_quantized = true};  // for the experts of gpt-oss
  OCTAVO_TRY(const int status, write_model(*source, options.write, std::move(request), context));
  return encoder && status == 0 ? write_encoder(*encoder, *source, options, context) : status;
}

}  // namespace

void add_convert_command(Program& program, Context& context) {
  auto options = std::make_shared<ConvertOptions>();
  Command& command = program.add_command("convert", "Writes a folder of safetensors as one GGUF file");
  command.accept_words("FOLDER OUT.gguf");
  command.footer(
      "FOLDER is a model as Hugging Face's tools save it: config.json, safetensors,\n"
      "tokenizer.json. octavo run -m FOLDER runs it as it is; a GGUF file is for other\n"
      "programs, and for quantizing once. llama.cpp reads files of text models.\n"
      "The encoder of pictures in a folder of a model that sees is written beside OUT,\n"
      "with mmproj- in front of its name, as --mmproj takes it; in TYPE where that is\n"
      "F32, F16, BF16 or Q8_0, else in the type that it has.\n\n"
      "Examples:\n"
      "  octavo convert Qwen3-0.6B qwen3-0.6b.gguf\n"
      "  octavo convert Qwen3-VL-4B mmproj-Q8_0.gguf --mmproj --type Q8_0\n"
      "  octavo convert Qwen3-0.6B qwen3-0.6b-q4_k_m.gguf --type Q4_K_M");
  add_parsed(
      command, "--type", "TYPE", parse_type_mix, [options](TypeMix mix) { options->mix = mix; },
      "The type of most weights, as octavo quantize takes it; default: the one that they have");
  const Option* alone = command.add_flag("--mmproj", options->encoder_alone, "The encoder of pictures alone");
  command.add_flag("--no-mmproj", options->no_encoder, "The model alone")->excludes(alone);
  add_write_options(command, options->write);
  add_log_level_option(command, context);
  command.on_parsed([&command, options] { return take_words(command.words(), *options); });
  command.action([options, &context] { return convert(*options, context); });
}

}  // namespace octavo::cli
