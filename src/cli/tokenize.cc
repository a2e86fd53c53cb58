// octavo tokenize: text to token ids and back. Reads the vocabulary only, so it works on files without weights.
#include <boost/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace octavo::cli {
namespace {

struct TokenizeOptionsOf {
  std::string model, text, decode;
  bool has_text = false;
  bool has_decode = false;
  bool ids_only = false;
  bool no_special = false;
  bool json = false;
};

Result<int> print_decoded(const TokenizeOptionsOf& options, const Tokenizer& tokenizer, Context& context) {
  auto ids = parse_ids(options.decode);
  if (!ids) return fail("--decode: {}", ids.error().message);
  for (const TokenId id : *ids)
    if (id >= tokenizer.vocab_size())
      return fail("--decode: found the id {}, expected 0 to {}", id, tokenizer.vocab_size() - 1);
  const std::string text = tokenizer.decode(*ids);
  if (options.json) {
    context.out << boost::json::serialize(boost::json::value{{"text", to_valid_utf8(text)}}) << '\n' << std::flush;
  } else {
    context.out << (context.out_is_terminal ? terminal_safe(text) : text) << '\n' << std::flush;
  }
  if (!context.out) return fail("cannot write to the standard output");
  return kDone;
}

void print_ids(const std::vector<TokenId>& ids, std::ostream& out) {
  std::string line;
  for (const TokenId id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  out << line << '\n';
}

void print_json(const std::vector<TokenId>& ids, const Tokenizer& tokenizer, std::ostream& out) {
  boost::json::array pieces;
  for (const TokenId id : ids) pieces.emplace_back(to_valid_utf8(tokenizer.token_bytes(id)));
  boost::json::array numbers(ids.begin(), ids.end());
  out << boost::json::serialize(boost::json::value{{"ids", std::move(numbers)}, {"pieces", std::move(pieces)}}) << '\n';
}

Result<int> tokenize(const TokenizeOptionsOf& options, Context& context) {
  OCTAVO_TRY(const auto path, resolve_model(options.model, context));
  OCTAVO_TRY(const GgufFile file, GgufFile::open(path));
  OCTAVO_TRY(const Tokenizer tokenizer, Tokenizer::load(file));
  if (options.has_decode) return print_decoded(options, tokenizer, context);

  std::string text = options.text;
  if (!options.has_text) {
    OCTAVO_TRY(text, read_text("", context));
  }
  OCTAVO_TRY(const auto ids, tokenizer.encode(text, {.add_special = !options.no_special, .parse_special = true}));
  if (options.json) {
    print_json(ids, tokenizer, context.out);
  } else if (options.ids_only) {
    print_ids(ids, context.out);
  } else {
    for (const TokenId id : ids) context.out << fmt::format("{:>7}  {}\n", id, escaped(tokenizer.token_bytes(id)));
  }
  context.out.flush();
  if (!context.out) return fail("cannot write to the standard output");
  return kDone;
}

}  // namespace

void add_tokenize_command(CLI::App& app, Context& context, Action& action) {
  auto options = std::make_shared<TokenizeOptionsOf>();
  CLI::App* command = app.add_subcommand("tokenize", "Shows the tokens of a text, or the text of tokens");
  command->footer(
      "Without TEXT the text is read from standard input, every byte of it. Control tokens written in the text become\n"
      "those tokens. Works on files that hold a vocabulary only.\n\n"
      "Examples:\n"
      "  octavo tokenize \"Hello, world\"\n"
      "  octavo tokenize -m vocab.gguf --ids --no-special < text.txt\n"
      "  octavo tokenize --decode 19556,28,905");
  add_model_option(*command, options->model);
  CLI::Option* text = command->add_option("TEXT", options->text, "The text; default: standard input");
  text->option_text(" ");
  CLI::Option* decode = command->add_option("--decode", options->decode, "Token ids to turn into text, as in 1,2,3");
  decode->option_text("IDS")->excludes(text);
  CLI::Option* ids = command->add_flag("--ids", options->ids_only, "Print ids alone, separated by spaces");
  ids->option_text(" ");
  command->add_flag("--no-special", options->no_special, "Add no BOS or EOS");
  command->add_flag("--json", options->json, "Print one JSON object: ids and pieces, or text")
      ->option_text(" ")
      ->excludes(ids);
  command->callback([options, text, decode, &context, &action] {
    options->has_text = text->count() > 0;
    options->has_decode = decode->count() > 0;
    action = [options, &context] { return tokenize(*options, context); };
  });
}

}  // namespace octavo::cli
