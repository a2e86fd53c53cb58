// octavo rerank: orders documents by how well they answer a query.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "api/prepare/relevance.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "cli/text_rows.h"
#include "json/json_writer.h"

namespace octavo::cli {
namespace {

struct RerankOptions {
  EngineOptions engine = engine_of_one_user();
  std::string model, file, query;
  std::vector<std::string> words;  // words that are not the model: the query, then documents
  std::vector<std::string> documents;
  int top = std::numeric_limits<int>::max();
  bool is_raw = false;
  bool truncates = false;
  bool json = false;
};

void print(std::span<const double> scores, const std::vector<std::string>& documents, const RerankOptions& options,
           std::ostream& out) {
  std::vector<std::size_t> best = best_first(scores);
  best.resize(std::min(best.size(), to_size(options.top)));
  for (const std::size_t index : best) {
    if (options.json) {
      out << json_object("index", index, "score", scores[index], "text", to_valid_utf8(documents[index])) << '\n';
    } else {
      out << fmt::format("{:8.4f}  {:>4}  {}\n", scores[index], index, escaped(documents[index]));
    }
  }
  out.flush();
}

Result<int> rerank(const RerankOptions& options, Context& context) {
  OCTAVO_TRY(const std::vector<std::string> documents,
             read_texts(options.documents, options.file, "document", context));
  EngineOptions engine_options = engine_of_texts(options.engine);
  engine_options.pooling = Pooling::kRank;
  OCTAVO_TRY(const auto engine, load_engine(std::move(engine_options), options.model, context));
  const ModelInfo& info = engine->info();
  const std::size_t num_labels = info.embedding.labels.size();
  if (!can_rank(num_labels))
    return fail("{}: found a model whose ranking head has {} labels, expected one or two of a model for reranking",
                info.name, num_labels);
  std::vector<double> scores(documents.size());
  const auto take = [&](std::size_t index, const std::vector<float>& row) -> Result<void> {
    const double logit = relevance_logit(row);
    scores[index] = options.is_raw ? logit : relevance(logit, Math(info.bits));
    return {};
  };
  const EmbeddingPromptOptions how{.cuts = options.truncates};
  const auto prompt = [&](std::size_t index) -> Result<EmbeddingPrompt> {
    auto made = engine->text()->rank_prompt(options.query, documents[index], how);
    if (!made) return fail("document {}: {}", index + 1, made.error().message);
    return made;
  };
  OCTAVO_TRY(const bool is_whole, run_texts(*engine,
                                            {.num_texts = documents.size(),
                                             .pooling = Pooling::kRank,
                                             .width = num_labels,
                                             .prompt = prompt,
                                             .take = take,
                                             .label = "documents"},
                                            context));
  if (!is_whole) return kInterrupted;
  print(scores, documents, options, context.out);
  return finish_output(context);
}

}  // namespace

void add_rerank_command(Program& program, Context& context) {
  auto options = std::make_shared<RerankOptions>();
  Command& command = program.add_command("rerank", "Sorts texts by how well they answer");
  command.footer(
      "The first word is the query, the others are documents: put each in quotes.\n"
      "Without documents they are the lines of -f, or of standard input. A word before\n"
      "the query is the model if it ends in .gguf or names a GGUF file.\n"
      "A line has the score, from 0 to 1, the document's number from 0, and the text.\n\n"
      "Examples:\n"
      "  octavo rerank model.gguf \"What is red?\" \"Roses are.\" \"Violets are not.\"\n"
      "  octavo rerank -m model.gguf \"What is red?\" -f lines.txt --top 3\n"
      "  octavo rerank -m model.gguf \"What is red?\" --json < lines.txt");
  add_model_option(command, options->model, "[MODEL.gguf] QUERY [DOCUMENT...]", options->words);
  command.add_option("-f,--file", options->file, "A file with a document in each line; -: standard input")
      ->check(refuse_empty)
      ->type_name("FILE");
  add_integer(command, "--top", options->top, 1, std::numeric_limits<int>::max(),
              "How many documents are printed, the best; default: all");
  command.add_flag("--raw", options->is_raw, "Scores are the model's logits");
  command.add_flag("--json", options->json, "Print each as a line of JSON: index, score, text");
  command.add_flag("--truncate", options->truncates,
                   "A document that the context has no room for loses its end; otherwise it is an error");
  add_engine_options(command, options->engine, context);
  command.on_parsed([options]() -> Result<void> {
    if (options->words.empty() || options->words.front().empty()) return fail("found no query, expected a text");
    options->query = options->words.front();
    options->documents.assign(options->words.begin() + 1, options->words.end());
    if (options->file.empty() || options->documents.empty()) return {};
    return fail("found the document '{}' beside -f, expected one of them", options->documents.front());
  });
  command.action([options, &context] { return rerank(*options, context); });
}

}  // namespace octavo::cli
