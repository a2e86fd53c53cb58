// octavo tokenize: from text to token ids and back. It reads only the vocabulary, so it works on files without weights.
#include <boost/json.hpp>
#include <limits>
#include <ostream>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "source/open_model.h"
#include "tokenizer/json/tokenizer_json.h"
#include "tokenizer/tokenizer.h"

namespace octavo::cli {
namespace {

struct TokenizeOptionsOf {
  std::string model, decode;
  std::filesystem::path tokenizer;
  std::vector<std::string> words;  // the text; at most one word
  std::string second;              // the second text of a pair
  std::size_t max_tokens = FrameOptions{}.max_tokens;
  bool has_decode = false;
  bool has_pair = false;
  bool is_framed = false;  // texts are encoded as an encoder reads them, with token types
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
  return finish_output(context);
}

void print_ids(const std::vector<TokenId>& ids, std::ostream& out) {
  std::string line;
  for (const TokenId id : ids) line += fmt::format("{}{}", line.empty() ? "" : " ", id);
  out << line << '\n';
}

void print_json(const FramedText& tokens, const Tokenizer& tokenizer, std::ostream& out) {
  boost::json::array pieces;
  for (const TokenId id : tokens.ids) pieces.emplace_back(to_valid_utf8(tokenizer.token_bytes(id)));
  boost::json::array numbers(tokens.ids.begin(), tokens.ids.end());
  boost::json::object object{{"ids", std::move(numbers)}, {"pieces", std::move(pieces)}};
  if (!tokens.types.empty()) object["types"] = boost::json::array(tokens.types.begin(), tokens.types.end());
  out << boost::json::serialize(object) << '\n';
}

/// The tokens of one text or of two; with types only where they are encoded as an encoder reads them.
Result<FramedText> encode(const TokenizeOptionsOf& options, const Tokenizer& tokenizer, std::string_view text) {
  if (!options.is_framed) {
    OCTAVO_TRY(auto ids, tokenizer.encode(text, {.add_special = !options.no_special, .parse_special = true}));
    return FramedText{.ids = std::move(ids)};
  }
  const FrameOptions frame{.max_tokens = options.max_tokens, .cuts = true, .parse_special = true};
  return options.has_pair ? tokenizer.encode_pair(text, options.second, frame) : tokenizer.encode_framed(text, frame);
}

/// The vocabulary of the tokenizer.json, with the model's numbers if a model is named; else the model's own.
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
  OCTAVO_TRY(const auto tokens, encode(options, tokenizer, text));
  if (options.json) {
    print_json(tokens, tokenizer, context.out);
  } else if (options.ids_only) {
    print_ids(tokens.ids, context.out);
  } else {
    for (const TokenId id : tokens.ids)
      context.out << fmt::format("{:>7}  {}\n", id, escaped(tokenizer.token_bytes(id)));
  }
  return finish_output(context);
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
      "  octavo tokenize bge.gguf \"a query\" --pair \"a document\" --cut 512 --json\n"
      "  octavo tokenize --decode 19556,28,905");
  add_model_option(command, options->model, "[MODEL.gguf] [TEXT]", options->words);
  add_tokenizer_option(command, options->tokenizer);
  Option* decode = command.add_option("--decode", options->decode, "Token ids to turn into text, as in 1,2,3");
  decode->type_name("IDS");
  Option* ids = command.add_flag("--ids", options->ids_only, "Print ids alone, separated by spaces");
  Option* no_special = command.add_flag("--no-special", options->no_special, "Add no BOS or EOS");
  Option* pair = command.add_option("--pair", options->second,
                                    "A second text, as a cross-encoder reads two: [CLS] TEXT [SEP] second [SEP]");
  pair->type_name("TEXT")->excludes(decode)->excludes(no_special);
  Option* cut =
      add_integer(command, "--cut", options->max_tokens, 1, std::numeric_limits<int>::max(),
                  "Leave out tokens at the end of the texts, so that at most N remain with those around them");
  cut->excludes(decode)->excludes(no_special);
  command.add_flag("--json", options->json, "Print one JSON object: ids and pieces, or text")->excludes(ids);
  command.on_parsed([options, decode, pair, cut]() -> Result<void> {
    options->has_decode = decode->count() > 0;
    options->has_pair = pair->count() > 0;
    options->is_framed = options->has_pair || cut->count() > 0;
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
