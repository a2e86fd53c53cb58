// octavo embed: prints vectors of texts.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <ostream>
#include <utility>

#include "api/prepare/relevance.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/npy.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "cli/text_rows.h"
#include "json/json_writer.h"

namespace octavo::cli {
namespace {

constexpr std::size_t kMaxCompared = 1000;  // the most texts in a table

struct EmbedOptions {
  EngineOptions engine = engine_of_one_user();
  std::string model, file, out;
  std::vector<std::string> words;  // the texts: words that are not the model
  int norm = 2;
  bool truncates = false;
  bool compares = false;
  std::optional<std::string> prompt_name;  // see EmbeddingPromptOptions
};

std::string json_line(std::size_t index, std::span<const float> rows, std::size_t width, bool are_of_tokens) {
  std::string line;
  JsonWriter json(line);
  json.begin_object().fields("index", index).key("embedding");
  if (are_of_tokens) json.begin_array();
  for (std::size_t begin = 0; begin < rows.size(); begin += width) json.value(rows.subspan(begin, width));
  if (are_of_tokens) json.end_array();
  json.end_object();
  return line + '\n';
}

/// Prints the cosine of each text with each other one, a line for each text, with the text at its end.
void print_similarities(const std::vector<std::vector<float>>& vectors, const std::vector<std::string>& texts,
                        std::ostream& out) {
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    std::string line;
    for (const std::vector<float>& other : vectors)
      fmt::format_to(std::back_inserter(line), "{:7.4f} ", cosine(vectors[i], other));
    out << line << ' ' << escaped(texts[i]) << '\n';
  }
}

/// The pooling with which the model makes vectors. Error: why it makes none of this kind.
Result<Pooling> pooling_of(const EmbedOptions& options, const ModelInfo& info) {
  const Pooling pooling = options.engine.pooling.value_or(info.embedding.pooling);
  if (pooling == Pooling::kRank)
    return fail("{}: ranks documents and makes no vectors: octavo rerank, or --pooling mean, cls or last", info.name);
  const std::string_view asked = options.compares ? "--similarities" : "--out";
  if (pooling == Pooling::kNone && (options.compares || !options.out.empty()))
    return fail("--pooling none: found {} beside it, expected none: there are as many rows as tokens", asked);
  return pooling;
}

Result<int> embed(const EmbedOptions& options, Context& context) {
  OCTAVO_TRY(const std::vector<std::string> texts, read_texts(options.words, options.file, "text", context));
  if (options.compares && texts.size() > kMaxCompared)
    return fail("--similarities: found {} texts, expected at most {}", texts.size(), kMaxCompared);
  OCTAVO_TRY(const auto engine, load_engine(engine_of_texts(options.engine), options.model, context));
  const ModelInfo& info = engine->info();
  OCTAVO_TRY(const Pooling pooling, pooling_of(options, info));
  const std::size_t width = to_size(info.embedding.width);
  std::unique_ptr<NpyWriter> npy;
  if (!options.out.empty()) {
    OCTAVO_TRY(NpyWriter created, NpyWriter::create(options.out, texts.size(), width));
    npy = std::make_unique<NpyWriter>(std::move(created));
  }
  std::vector<std::vector<float>> compared;
  const auto take = [&](std::size_t index, std::vector<float> rows) -> Result<void> {
    if (pooling != Pooling::kNone) normalize(rows, options.norm, info.bits);
    if (npy) npy->append(rows);
    if (!npy && !options.compares) context.out << json_line(index, rows, width, pooling == Pooling::kNone);
    if (options.compares) compared.push_back(std::move(rows));
    if (!context.out) return fail("cannot write to the standard output");
    return {};
  };
  if (const auto words = info.embedding.prompt_text(options.prompt_name); !words)
    return fail("--prompt-name: {}", words.error().message);
  const EmbeddingPromptOptions how{.cuts = options.truncates, .prompt_name = options.prompt_name};
  const auto prompt = [&](std::size_t index) -> Result<EmbeddingPrompt> {
    auto made = engine->text()->embedding_prompt(texts[index], how);
    if (!made) return fail("text {}: {}", index + 1, made.error().message);
    return made;
  };
  OCTAVO_TRY(const bool is_whole, run_texts(*engine,
                                            {.num_texts = texts.size(),
                                             .pooling = pooling,
                                             .width = width,
                                             .prompt = prompt,
                                             .take = take,
                                             .label = "texts"},
                                            context));
  context.out.flush();
  if (!is_whole) return kInterrupted;
  if (npy) OCTAVO_TRY_VOID(npy->finish());
  if (options.compares) print_similarities(compared, texts, context.out);
  return finish_output(context);
}

}  // namespace

void add_embed_command(Program& program, Context& context) {
  auto options = std::make_shared<EmbedOptions>();
  Command& command = program.add_command("embed", "Makes vectors of texts");
  command.footer(
      "Each word is a text: put it in quotes. Without words the texts are the lines of\n"
      "-f, or of standard input. The first word is the model if it ends in .gguf or\n"
      "names a GGUF file; with -m every word is a text.\n"
      "A vector is a line of JSON, {\"index\", \"embedding\"}, as soon as it is there; with\n"
      "--pooling none the embedding is a list of a row for each token.\n\n"
      "Examples:\n"
      "  octavo embed model.gguf \"The sky is blue.\" \"Grass is green.\" --similarities\n"
      "  octavo embed -m model.gguf -f lines.txt --out vectors.npy\n"
      "  octavo embed -m model.gguf < lines.txt > vectors.jsonl");
  add_model_option(command, options->model, "[MODEL.gguf] [TEXT...]", options->words);
  command.add_option("-f,--file", options->file, "A file with a text in each line; -: standard input")
      ->check(refuse_empty)
      ->type_name("FILE");
  Option* out = command.add_option("--out", options->out, "Write the vectors to this file, in NumPy's format");
  out->check(refuse_empty)->type_name("FILE.npy");
  command.add_flag("--similarities", options->compares, "Print the cosine of each text with each, in place of vectors")
      ->excludes(out);
  add_pooling_option(command, options->engine.pooling);
  add_norm_option(command, options->norm);
  const auto take_name = [options](const std::string& name) -> Result<void> {
    options->prompt_name = name;
    return {};
  };
  command
      .add_option_function("--prompt-name", take_name,
                           "The words of the model's maker in front of each text, by name: query, document and others; "
                           "default: the model's own default, if it has one")
      ->type_name("NAME");
  command.add_flag("--truncate", options->truncates,
                   "A text that is longer than the context loses its end; otherwise it is an error");
  add_engine_options(command, options->engine, context);
  command.on_parsed([options]() -> Result<void> {
    if (options->file.empty() || options->words.empty()) return {};
    return fail("found the text '{}' beside -f, expected one of them", options->words.front());
  });
  command.action([options, &context] { return embed(*options, context); });
}

}  // namespace octavo::cli
