// octavo tokenize: text to token ids and back. Reads the vocabulary only, so it works on files without weights.
#include <boost/json.hpp>
#include <ostream>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/find_model.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "source/open_model.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_json.h"

namespace octavo::cli {
namespace {

struct TokenizeOptionsOf {
  std::string model, decode;
  std::filesystem::path tokenizer;
  std::vector<std::string> words;  // at most one: the text
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
    context.out << text << '\n' << std::flush;
  }
  if (!context.out) return fail("cannot write to the standard output");
  return kDone;
}

void print_ids(const std::vector<TokenId>& ids, std::ostream& out) {
  std::string line;
  for (const TokenId id : ids) line += fmt::format("{}{}", line.empty() ? "" : " ", id);
  out << line << '\n';
}

void print_json(const std::vector<TokenId>& ids, const Tokenizer& tokenizer, std::ostream& out) {
  boost::json::array pieces;
  for (const TokenId id : ids) pieces.emplace_back(to_valid_utf8(tokenizer.token_bytes(id)));
  boost::json::array numbers(ids.begin(), ids.end());
  out << boost::json::serialize(boost::json::value{{"ids", std::move(numbers)}, {"pieces", std::move(pieces)}}) << '\n';
}

/// The words of the tokenizer.json, as those of the model if one is named; else the model's own.
Result<Tokenizer> load_words(const TokenizeOptionsOf& options, const Context& context) {
  if (options.tokenizer.empty()) {
    OCTAVO_TRY(const auto path, resolve_model(options.model, context));
    OCTAVO_TRY(const auto source, open_model(path));
    return Tokenizer::load(*source);
  }
  OCTAVO_TRY(const TokenizerJson json, TokenizerJson::open(options.tokenizer));
  if (options.model.empty()) return Tokenizer::load(json);
  OCTAVO_TRY(const auto path, resolve_model(options.model, context));
  OCTAVO_TRY(const auto source, open_model(path));
  return Tokenizer::load(*source, {}, &json);
}

Result<int> tokenize(const TokenizeOptionsOf& options, Context& context) {
  OCTAVO_TRY(const Tokenizer tokenizer, load_words(options, context));
  if (options.has_decode) return print_decoded(options, tokenizer, context);

  std::string text;
  if (options.words.empty()) {
    OCTAVO_TRY(text, read_text("", context));
  } else {
    text = options.words.front();
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

void add_tokenize_command(Program& program, Context& context) {
  auto options = std::make_shared<TokenizeOptionsOf>();
  Command& command = program.add_command("tokenize", "Shows the tokens of a text, or the text of tokens");
  command.footer(
      "TEXT is one word for the shell: put it in quotes. Without it the text is read\n"
      "from standard input, every byte of it. Control tokens written in the text become\n"
      "those tokens. Works on files that hold a vocabulary only, and with --tokenizer\n"
      "without a model.\n"
      "The first word is the model if it ends in .gguf or names a GGUF file; with -m\n"
      "every word is text.\n\n"
      "Examples:\n"
      "  octavo tokenize \"Hello, world\"\n"
      "  octavo tokenize vocab.gguf --ids --no-special < text.txt\n"
      "  octavo tokenize --tokenizer tokenizer.json \"Hello\"\n"
      "  octavo tokenize --decode 19556,28,905");
  add_model_option(command, options->model, "[MODEL.gguf] [TEXT]", options->words);
  add_tokenizer_option(command, options->tokenizer);
  Option* decode = command.add_option("--decode", options->decode, "Token ids to turn into text, as in 1,2,3");
  decode->type_name("IDS");
  Option* ids = command.add_flag("--ids", options->ids_only, "Print ids alone, separated by spaces");
  command.add_flag("--no-special", options->no_special, "Add no BOS or EOS");
  command.add_flag("--json", options->json, "Print one JSON object: ids and pieces, or text")->excludes(ids);
  command.on_parsed([options, decode]() -> Result<void> {
    options->has_decode = decode->count() > 0;
    if (options->words.size() > 1)
      return fail("found the words '{}' and '{}', expected one text: put it in quotes", options->words[0],
                  options->words[1]);
    if (options->has_decode && !options->words.empty())
      return fail("found the text '{}' beside --decode, expected one of them", options->words[0]);
    return {};
  });
  command.action([options, &context] { return tokenize(*options, context); });
}

}  // namespace octavo::cli
