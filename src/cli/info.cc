// octavo info: what is in a file, which weights take how much, what it will need in memory.
#include <boost/json.hpp>
#include <ostream>

#include "base/to_size.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/info_report.h"
#include "cli/info_vision.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "model/vision_config.h"
#include "source/open_model.h"
#include "tokenizer/json/tokenizer_json.h"
#include "tokenizer/tokenizer.h"

namespace octavo::cli {
namespace {

/// Texts are what the file is for, or a part of it.
bool makes_vectors(const ModelConfig& config) {
  return config.is_encoder || config.pooling || config.head.num_scores > 0;
}

std::string describe_vectors(const ModelConfig& config) {
  std::string text = fmt::format("{}{} numbers", config.is_encoder ? "an encoder: " : "", config.head.width);
  if (config.pooling) text += fmt::format(", pooling {}", pooling_name(*config.pooling));
  if (config.head.num_scores > 0) text += fmt::format(", a ranking head of {}", config.head.num_scores);
  return text;
}

constexpr int kLeastContext = 2;  // of an engine: a token of a prompt and one of an answer

struct InfoCommandOptions {
  std::filesystem::path tokenizer;
  std::string mmproj;
  InfoOptions info;
  std::string model;
  bool json = false;
};

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string format_count(std::uint64_t count) {
  const auto value = static_cast<double>(count);
  if (value >= 1e9) return fmt::format("{:.2f} billion", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f} million", value / 1e6);
  return fmt::format("{}", count);
}

void print_line(std::string_view label, const std::string& text, std::ostream& out) {
  out << fmt::format("{:<14}{}\n", label, text);
}

/// "28 layers with 8 of 256 (1 for keys and values), 7 layers with 8 of 512 (1 for keys and values)".
std::string heads_text(const std::vector<HeadShape>& shapes) {
  std::string text;
  for (const HeadShape& shape : shapes)
    text += fmt::format("{}{} layers with {} of {}{} ({} for keys and values)", text.empty() ? "" : ", ",
                        shape.num_layers, shape.num_heads, shape.head_dim,
                        shape.v_dim == shape.head_dim ? "" : fmt::format(", values of {}", shape.v_dim),
                        shape.num_kv_heads);
  return text;
}

/// "embeddings times 12, what layers add times 0.22, logits times 0.0625"; those that are 1 left out.
std::string scales_text(const ModelConfig& config) {
  std::string text;
  const auto add = [&text](std::string_view what, float scale) {
    if (scale != 1) text += fmt::format("{}{} times {:.4g}", text.empty() ? "" : ", ", what, scale);
  };
  add("embeddings", config.embedding_scale);
  add("what layers add", config.residual_scale);
  add("logits", config.logit_scale);
  return text;
}

/// The recurrent layers of a hybrid.
void print_recurrence(const LayerShapes& shapes, int num_layers, std::ostream& out) {
  if (shapes.delta)
    print_line(
        "recurrent",
        fmt::format("{} of {} layers, with states of {} x {} in {} heads; the others attend", shapes.num_recurrent,
                    num_layers, shapes.delta->key_dim, shapes.delta->value_dim, shapes.delta->num_value_heads),
        out);
  if (shapes.mamba)
    print_line("recurrent",
               fmt::format("{} of {} layers are Mamba-2, with states of {} x {} in {} heads", shapes.num_recurrent,
                           num_layers, shapes.mamba->state_dim, shapes.mamba->head_dim, shapes.mamba->num_heads),
               out);
  if (shapes.convolution_taps > 0)
    print_line("recurrent",
               fmt::format("{} of {} layers are short convolutions of {} taps; the others attend", shapes.num_recurrent,
                           num_layers, shapes.convolution_taps),
               out);
}

/// Peculiarities of layers, a line each.
void print_layers(const InfoReport& report, const LayerShapes& shapes, std::ostream& out) {
  const ModelConfig& c = *report.config;
  if (shapes.heads.size() > 1 || (shapes.heads.size() == 1 && shapes.heads[0].v_dim != shapes.heads[0].head_dim))
    print_line("heads", heads_text(shapes.heads), out);
  if (shapes.latent)
    print_line(
        "latent",
        fmt::format("{} numbers of a token, and {} rotated ones, are the keys of {} heads of {}, and their values "
                    "of {}",
                    shapes.latent->rank, shapes.latent->rotated_dim, shapes.num_heads, shapes.latent->q_dim(),
                    shapes.latent->value_dim),
        out);
  if (shapes.num_without_mixer + shapes.num_without_ffn > 0)
    print_line("left out",
               fmt::format("{} of {} layers have no attention, {} no feed-forward", shapes.num_without_mixer,
                           c.num_layers(), shapes.num_without_ffn),
               out);
  if (shapes.num_without_rope > 0 && !c.is_encoder)
    print_line("positions", fmt::format("{} of {} layers are not told them", shapes.num_without_rope, c.num_layers()),
               out);
  if (const std::string scales = scales_text(c); !scales.empty()) print_line("scales", scales, out);
  if (c.is_assistant()) {
    print_line("borrowing", "all layers read the keys and values of the model that it drafts for", out);
  } else if (shapes.num_borrowing > 0) {
    print_line(
        "borrowing",
        fmt::format("{} of {} layers read the keys and values of an earlier one", shapes.num_borrowing, c.num_layers()),
        out);
  }
  if (c.per_layer_width > 0)
    print_line("per layer", fmt::format("an embedding of {} for each token and layer", c.per_layer_width), out);
  if (shapes.num_experts > 0)
    print_line(
        "experts",
        fmt::format("{} in a layer, of which a token chooses {}{}: {} of the weights are at work for it",
                    shapes.num_experts, shapes.num_chosen, shapes.shared_width > 0 ? ", and one for every token" : "",
                    format_count(report.num_weights - weights_of_idle_experts(c))),
        out);
  print_recurrence(shapes, c.num_layers(), out);
  if (c.is_assistant()) {
    print_line("drafts",
               fmt::format("it only drafts, for a model with rows of {} and this vocabulary (--draft FILE beside it)",
                           c.model_width),
               out);
  } else if (report.is_head_alone) {
    print_line("drafts",
               fmt::format("a head alone, for a model of {} layers with rows of {} (--draft FILE beside it)",
                           c.num_layers(), c.width),
               out);
  } else if (c.has_draft_head) {
    print_line("drafts", "a head, which guesses the next tokens of an answer (--draft mtp, or auto)", out);
  } else if (!report.draft_head_fault.empty()) {
    print_line("drafts", fmt::format("a head that nothing uses: {}", report.draft_head_fault), out);
  } else if (c.num_skipped_layers > 0) {
    print_line("drafts", fmt::format("{} layers of prediction, which nothing uses", c.num_skipped_layers), out);
  }
}

void print_head(const InfoReport& report, std::ostream& out) {
  const auto line = [&out](std::string_view label, const std::string& text) { print_line(label, text, out); };
  const std::string size =
      format_bytes(report.file_bytes) + (report.num_files > 1 ? fmt::format(" in {} files", report.num_files) : "");
  const std::string version = report.version > 0 ? fmt::format(" version {}", report.version) : "";
  line("file", fmt::format("{} ({}, {}{}, {} metadata keys)", escaped(report.path), size, report.format, version,
                           report.num_metadata));
  if (!report.name.empty()) line("name", escaped(report.name));
  line("architecture", escaped(report.architecture));
  if (report.config) {
    const ModelConfig& c = *report.config;
    const LayerShapes shapes = shapes_of_layers(c);
    line("shape",
         fmt::format("{} layers, width {}, feed-forward {}, {} heads of {} ({} for keys and values)", c.num_layers(),
                     c.width, shapes.ffn_width, shapes.num_heads, shapes.head_dim, shapes.num_kv_heads));
    print_layers(report, shapes, out);
    std::string context = fmt::format("{} tokens", c.context_length);
    if (shapes.window > 0)
      context +=
          fmt::format("; {} of {} layers see all of it, the others {} {}", shapes.num_without_window, c.num_layers(),
                      c.is_encoder        ? "a window of"
                      : shapes.is_chunked ? "their own chunk of"
                                          : "the last",
                      shapes.window);
    line("context", context);
    line("weights", fmt::format("{} in {}{}", format_count(report.num_weights), format_bytes(report.weight_bytes),
                                c.tied_output && !c.is_encoder ? "; the output matrix is the embedding" : ""));
    if (makes_vectors(c)) line("vectors", describe_vectors(c));
  } else {
    line("weights", "none: the file holds a vocabulary only");
  }
  const VocabularyInfo& vocabulary = report.vocabulary;
  line("vocabulary",
       fmt::format("{} tokens, {}{}{}", vocabulary.num_tokens,
                   vocabulary.model.empty() ? "no tokenizer" : escaped(vocabulary.model),
                   vocabulary.pretokenizer.empty() ? "" : ", pre-tokenizer ", escaped(vocabulary.pretokenizer)));
  std::string ends;
  for (const EndToken& end : vocabulary.end_tokens)
    ends += fmt::format("{}{} ({})", ends.empty() ? "" : ", ", escaped(end.text), end.source);
  if (vocabulary.num_tokens > 0) line("ends", ends.empty() ? "no token that is known to end an answer" : ends);
  if (!vocabulary.reasoning.empty()) line("reasoning", "between marks of the family " + vocabulary.reasoning);
  if (!vocabulary.tool_format.empty())
    line("tools", (vocabulary.describes_tools ? "described in the system message, called in the format "
                                              : "called in the format ") +
                      vocabulary.tool_format);
  std::string sampling;
  for (const auto& [name, value] : report.sampling)
    sampling += fmt::format("{}{} {}", sampling.empty() ? "" : ", ", name, value);
  if (!sampling.empty()) line("sampling", sampling);
}

void print_sums(std::string_view title, const std::vector<WeightSum>& sums, std::uint64_t total, std::ostream& out) {
  out << fmt::format("\n{:<14}{:<8}{:>8}{:>14}{:>12}{:>9}\n", title, "type", "tensors", "weights", "size", "share");
  for (const WeightSum& sum : sums)
    out << fmt::format("{:<14}{:<8}{:>8}{:>14}{:>12}{:>7.1f} %\n", sum.part, dtype_info(sum.type).name, sum.num_tensors,
                       sum.num_weights, format_bytes(sum.bytes), percent(sum.bytes, total));
}

void print_memory(const MemoryNeed& need, bool can_be_mapped, std::ostream& out) {
  out << fmt::format("\nmemory at a context of {} tokens\n", need.context);
  const std::string weights = need.quantized.empty() ? "weights" : fmt::format("weights as {}", need.quantized);
  out << fmt::format("  {:<22}{:>12}\n", weights, format_bytes(need.weight_bytes));
  out << fmt::format("  {:<22}{:>12}  {} a token\n", fmt::format("KV cache, {}", kv_type_name(need.kv_type)),
                     format_bytes(need.kv_bytes - need.recurrent_bytes), format_bytes(need.kv_bytes_per_token));
  if (need.recurrent_bytes > 0)
    out << fmt::format("  {:<22}{:>12}  of a sequence, whatever its length\n", "recurrent state",
                       format_bytes(need.recurrent_bytes));
  out << fmt::format("  {:<22}{:>12}  and scratch memory of some tens of MiB\n", "together",
                     format_bytes(need.weight_bytes + need.kv_bytes));
  if (!can_be_mapped) return;
  out << fmt::format("  {:<22}{:>12}  and the file's pages, which processes share: {}\n", "with --no-repack",
                     format_bytes(need.unmapped_weight_bytes + need.kv_bytes), format_bytes(need.mapped_weight_bytes));
}

/// "the whole context of 8192 tokens fits", "the largest context that fits is 1200 of 8192 tokens: --max-context 1200".
std::string fit_text(const MemoryHere& here, const ModelConfig& config, KvType type) {
  if (here.context == config.context_length)
    return fmt::format("the whole context of {} tokens fits", config.context_length);
  const std::string with = fmt::format(" with a KV cache of {}", kv_type_name(type));
  if (here.context < kLeastContext) return fmt::format("no context fits{}", with);
  return fmt::format("the largest context that fits{} is {} of {} tokens: --max-context {}", with, here.context,
                     config.context_length, here.context);
}

void print_here(const MemoryHere& here, const ModelConfig& config, KvType type, std::ostream& out) {
  out << fmt::format("\nhere {} of memory are free: {}\n", format_bytes(here.available_bytes),
                     fit_text(here, config, type));
  out << fmt::format("  {:<22}{:>12}  half of what weights and scratch memory leave\n", "KV cache, unless told",
                     format_bytes(here.kv_bytes));
  if (here.context == config.context_length) return;
  for (const ContextFit& fit : here.fits)
    out << fmt::format("  {:<22}{:>12}  tokens\n", fmt::format("fits with {}", kv_type_name(fit.kv_type)), fit.tokens);
}

void print_card(const gpu::CardFit& card, const MemoryNeed& need, int num_layers, std::ostream& out) {
  const gpu::Placement& placed = card.placement;
  out << fmt::format("\non {} {} of {} are free: {} of {} layers{}{}\n", card.name, format_bytes(card.free_bytes),
                     format_bytes(card.total_bytes), placed.num_layers, num_layers,
                     placed.output ? " and the output matrix" : "",
                     placed.reason.empty() ? "" : "; no more, as " + placed.reason);
  if (placed.num_layers == 0) return;
  out << fmt::format("  {:<22}{:>12}\n", "weights there", format_bytes(placed.weight_bytes));
  out << fmt::format("  {:<22}{:>12}  with keys and values of {} tokens, and the rows of a step\n", "together",
                     format_bytes(placed.bytes), need.context);
}

boost::json::object card_to_json(const gpu::CardFit& card) {
  const gpu::Placement& placed = card.placement;
  return {{"name", card.name},           {"total_bytes", card.total_bytes}, {"free_bytes", card.free_bytes},
          {"layers", placed.num_layers}, {"output", placed.output},         {"weight_bytes", placed.weight_bytes},
          {"bytes", placed.bytes},       {"reason", placed.reason}};
}

boost::json::object here_to_json(const MemoryHere& here) {
  boost::json::object by_type;
  for (const ContextFit& fit : here.fits) by_type[kv_type_name(fit.kv_type)] = fit.tokens;
  return {{"available_bytes", here.available_bytes},
          {"kv_bytes", here.kv_bytes},
          {"largest_context", here.context},
          {"largest_context_by_kv_type", std::move(by_type)}};
}

boost::json::array sums_to_json(const std::vector<WeightSum>& sums, std::uint64_t total) {
  boost::json::array out;
  for (const WeightSum& sum : sums) {
    boost::json::object row;
    if (!sum.part.empty()) row["part"] = sum.part;
    row["type"] = dtype_info(sum.type).name;
    row["tensors"] = sum.num_tensors;
    row["weights"] = sum.num_weights;
    row["bytes"] = sum.bytes;
    row["share"] = percent(sum.bytes, total) / 100;
    out.push_back(std::move(row));
  }
  return out;
}

boost::json::object vectors_to_json(const ModelConfig& config) {
  boost::json::object out{{"is_encoder", config.is_encoder}, {"width", config.head.width}};
  if (config.pooling) out["pooling"] = pooling_name(*config.pooling);
  if (config.head.num_scores > 0) out["num_scores"] = config.head.num_scores;
  return out;
}

boost::json::object config_to_json(const InfoReport& report) {
  const ModelConfig& config = *report.config;
  const LayerShapes shapes = shapes_of_layers(config);
  boost::json::object out{{"num_layers", config.num_layers()},
                          {"width", config.width},
                          {"ffn_width", shapes.ffn_width},
                          {"num_heads", shapes.num_heads},
                          {"num_kv_heads", shapes.num_kv_heads},
                          {"head_dim", shapes.head_dim},
                          {"context_length", config.context_length},
                          {"window", shapes.window},
                          {"is_chunked", shapes.is_chunked},
                          {"vocab_size", config.vocab_size},
                          {"tied_output", config.tied_output && !config.is_encoder},
                          {"num_recurrent", shapes.num_recurrent},
                          {"num_without_positions", shapes.num_without_rope},
                          {"embedding_scale", config.embedding_scale},
                          {"residual_scale", config.residual_scale},
                          {"logit_scale", config.logit_scale},
                          {"num_borrowing", shapes.num_borrowing},
                          {"num_without_mixer", shapes.num_without_mixer},
                          {"num_without_feed_forward", shapes.num_without_ffn},
                          {"per_layer_width", config.per_layer_width},
                          {"draft_head", config.has_draft_head}};
  boost::json::array& heads = out["heads"].emplace_array();
  for (const HeadShape& shape : shapes.heads)
    heads.push_back({{"num_layers", shape.num_layers},
                     {"num_heads", shape.num_heads},
                     {"num_kv_heads", shape.num_kv_heads},
                     {"head_dim", shape.head_dim},
                     {"v_dim", shape.v_dim}});
  if (makes_vectors(config)) out["vectors"] = vectors_to_json(config);
  if (shapes.num_experts == 0) return out;
  out["num_experts"] = shapes.num_experts;
  out["num_chosen_experts"] = shapes.num_chosen;
  if (shapes.shared_width > 0) out["shared_expert_width"] = shapes.shared_width;
  out["num_active_weights"] = report.num_weights - weights_of_idle_experts(config);
  return out;
}

/// A file that only drafts: what it holds, and the model that it is for.
boost::json::object draft_file_to_json(const InfoReport& report) {
  const ModelConfig& config = *report.config;
  if (config.is_assistant()) return {{"kind", "assistant"}, {"model_width", config.model_width}};
  return {{"kind", "draft_head"}, {"model_width", config.width}, {"model_layers", config.num_layers()}};
}

boost::json::object to_json(const InfoReport& report) {
  boost::json::object out{
      {"path", to_valid_utf8(report.path)},
      {"file_bytes", report.file_bytes},
      {"files", report.num_files},
      {"gguf_version", report.version},
      {"metadata_keys", report.num_metadata},
      {"architecture", to_valid_utf8(report.architecture)},
      {"name", to_valid_utf8(report.name)},
      {"vocabulary",
       {{"tokens", report.vocabulary.num_tokens},
        {"model", to_valid_utf8(report.vocabulary.model)},
        {"pre", to_valid_utf8(report.vocabulary.pretokenizer)}}},
      {"num_weights", report.num_weights},
      {"weight_bytes", report.weight_bytes},
      {"by_type", sums_to_json(report.by_type, report.weight_bytes)},
      {"by_part", sums_to_json(report.by_part, report.weight_bytes)},
  };
  boost::json::object& vocabulary = out["vocabulary"].as_object();
  boost::json::array& ends = vocabulary["end_tokens"].emplace_array();
  for (const EndToken& end : report.vocabulary.end_tokens)
    ends.push_back({{"id", end.id}, {"text", to_valid_utf8(end.text)}, {"source", end.source}});
  vocabulary["reasoning"] = report.vocabulary.reasoning;
  vocabulary["tool_format"] = report.vocabulary.tool_format;
  vocabulary["describes_tools"] = report.vocabulary.describes_tools;
  if (!report.sampling.empty()) {
    boost::json::object& sampling = out["sampling"].emplace_object();
    for (const auto& [name, value] : report.sampling) sampling[name] = value;
  }
  if (report.config) out["shape"] = config_to_json(report);
  if (report.drafts_only()) out["draft_file"] = draft_file_to_json(report);
  if (!report.draft_head_fault.empty()) out["draft_head_fault"] = to_valid_utf8(report.draft_head_fault);
  if (report.memory) {
    const MemoryNeed& need = *report.memory;
    out["memory"] = {{"context", need.context},
                     {"weight_bytes", need.weight_bytes},
                     {"kv_type", kv_type_name(need.kv_type)},
                     {"kv_bytes_per_token", need.kv_bytes_per_token},
                     {"kv_bytes", need.kv_bytes},
                     {"recurrent_bytes", need.recurrent_bytes},
                     {"total_bytes", need.weight_bytes + need.kv_bytes},
                     {"no_repack",
                      {{"weight_bytes", need.unmapped_weight_bytes},
                       {"mapped_weight_bytes", need.mapped_weight_bytes},
                       {"total_bytes", need.unmapped_weight_bytes + need.kv_bytes}}}};
    if (!need.quantized.empty()) out["memory"].as_object()["quantize"] = need.quantized;
  }
  if (report.here) out["here"] = here_to_json(*report.here);
  if (report.card) out["card"] = card_to_json(*report.card);
  return out;
}

/// The encoder of pictures that was named, or that the model has; null: none. Of others found beside it, lines say why
/// they are none. Error: that of a named one.
Result<std::unique_ptr<const ModelSource>> encoder_of(const InfoCommandOptions& options,
                                                      const std::filesystem::path& path, const ModelSource& model,
                                                      std::ostream& err) {
  if (!options.mmproj.empty()) return open_encoder(options.mmproj);
  return find_encoder(path, model, err);
}

Result<int> info(const InfoCommandOptions& options, Context& context) {
  OCTAVO_TRY(const auto path, resolve_model(options.model, context));
  OCTAVO_TRY(const auto source, open_model(path));
  if (is_encoder_file(*source)) {
    OCTAVO_TRY_VOID(print_vision_info(*source, options.json, context.out));
    return finish_output(context);
  }
  OCTAVO_TRY(InfoReport report, make_info_report(*source, options.info));
  if (!options.tokenizer.empty()) {
    OCTAVO_TRY(const TokenizerJson json, TokenizerJson::open(options.tokenizer));
    OCTAVO_TRY(const Tokenizer tokenizer, Tokenizer::load(*source, {}, &json));
    report.vocabulary = {.model = "tokenizer.json", .pretokenizer = {}, .num_tokens = to_size(tokenizer.vocab_size())};
  }
  OCTAVO_TRY(const auto encoder, encoder_of(options, path, *source, context.err));
  if (options.json) {
    boost::json::object out = to_json(report);
    if (encoder) {
      OCTAVO_TRY(out["vision_encoder"], vision_to_json(*encoder));
    }
    context.out << boost::json::serialize(out) << '\n' << std::flush;
  } else {
    print_head(report, context.out);
    if (!source->tensors().empty()) {
      print_sums("by type", report.by_type, report.weight_bytes, context.out);
      print_sums("by part", report.by_part, report.weight_bytes, context.out);
    }
    if (report.memory)
      print_memory(*report.memory, report.format == "GGUF" && report.memory->quantized.empty(), context.out);
    if (report.here) print_here(*report.here, *report.config, report.memory->kv_type, context.out);
    if (report.card) print_card(*report.card, *report.memory, report.config->num_layers(), context.out);
    if (encoder) OCTAVO_TRY_VOID(print_vision_lines(*encoder, context.out));
    context.out.flush();
  }
  return finish_output(context);
}

/// Here a word can be nothing but the model's file, whatever the file is.
Result<void> take_only_word(Command& command, const Option& model, std::string& path) {
  const std::vector<std::string>& words = command.words();
  if (words.empty()) return {};
  if (words.size() > 1 || model.count() > 0)
    return fail("found '{}' beside '{}', expected one file", words.back(), model.count() > 0 ? path : words.front());
  if (words.front().empty()) return fail("MODEL.gguf: found an empty name");
  path = words.front();
  return {};
}

}  // namespace

void add_info_command(Program& program, Context& context) {
  auto options = std::make_shared<InfoCommandOptions>();
  Command& command = program.add_command("info", "Shows what is in a file and what it needs in memory");
  command.footer(
      "Reads the file's directory only, so it is quick for any size. Works on files\n"
      "that hold a vocabulary only, and on vision encoders (mmproj); of a model that\n"
      "sees it tells of its encoder, too. The KV cache is\n"
      "that of one sequence as long as the context. The end tells what fits the\n"
      "memory that is free now, here or in this container, if the KV cache takes half\n"
      "of what the weights leave, as it does unless told (--kv-memory of the other\n"
      "commands). With --device cuda it tells how many layers the card has room for,\n"
      "with the keys and values of one such sequence.\n\n"
      "Examples:\n"
      "  octavo info model.gguf\n"
      "  octavo info model.gguf --context 32768 --kv-type q8_0\n"
      "  octavo info FOLDER --quantize q4_k_m\n"
      "  octavo info model.gguf --json");
  const Option* model = command.add_option("-m,--model", options->model, "GGUF file; default: SmolLM2-135M-Instruct")
                            ->check(refuse_empty)
                            ->type_name("FILE");
  command.accept_words("[MODEL.gguf]");
  command.on_parsed([options, model, &command] { return take_only_word(command, *model, options->model); });
  add_integer(command, "-c,--context,--max-context,--ctx-size", options->info.context, 1, 1 << 30,
              "Tokens to reckon with; default: what the model was trained for");
  add_kv_type_option(command, options->info.kv_type);
  add_quantize_option(command, options->info.quantize);
  add_device_options(
      command, options->info.device, options->info.gpu_layers,
      "A card too is looked at: cpu (default): none; cuda: an NVIDIA card; auto: one, where it is there");
  add_generation_config_option(command, options->info.generation_config);
  add_tokenizer_option(command, options->tokenizer);
  command.add_option("--mmproj", options->mmproj, "The encoder of the model's pictures; default: the one it has")
      ->check(refuse_empty)
      ->type_name("FILE");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.action([options, &context] { return info(*options, context); });
}

}  // namespace octavo::cli
