// octavo logits: prints the model's raw output for given token ids, for comparison with other engines.
#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <ostream>

#include "base/math.h"
#include "base/to_size.h"
#include "cli/commands.h"
#include "cli/generate.h"
#include "cli/npy.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"

namespace octavo::cli {
namespace {

constexpr std::size_t kTop = 20;

struct LogitsOptions {
  EngineOptions engine = engine_of_one_user();
  std::string model, out;
  std::vector<TokenId> ids;
  bool json = false;
};

/// The logarithm of the sum of exp(x), in double and without overflow.
double log_sum_exp(std::span<const float> row, Math math) {
  const auto highest = static_cast<double>(*std::max_element(row.begin(), row.end()));
  double sum = 0;
  for (const float x : row) sum += math.exp(static_cast<double>(x) - highest);
  return highest + math.log(sum);
}

struct TokenLogprob {
  TokenId id;
  double logprob;
};

/// The most likely tokens of a row, best first; of equal ones the lower id first.
std::vector<TokenLogprob> most_likely(std::span<const float> row, Math math) {
  std::vector<TokenId> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t count = std::min(kTop, order.size());
  const auto at = [&](TokenId id) { return row[to_size(id)]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](TokenId a, TokenId b) { return at(a) != at(b) ? at(a) > at(b) : a < b; });
  const double total = log_sum_exp(row, math);
  std::vector<TokenLogprob> top;
  top.reserve(count);
  for (std::size_t i = 0; i < count; ++i) top.push_back({order[i], static_cast<double>(at(order[i])) - total});
  return top;
}

/// The sums over rows that are kept while the rows pass by, as the whole matrix may be larger than memory.
struct Summary {
  Math math;
  double nll_sum = 0;  // over ids[1..]
  std::vector<TokenLogprob> top;
  std::optional<std::size_t> not_finite;  // the first position with a logit that is not finite

  void add(std::span<const TokenId> ids, std::size_t position, std::span<const float> row) {
    // Such a row has no likeliest token, and JSON has no such numbers.
    if (!not_finite && !std::ranges::all_of(row, [](float x) { return std::isfinite(x); })) not_finite = position;
    if (not_finite) return;
    if (position + 1 == ids.size()) {
      top = most_likely(row, math);
    } else {
      nll_sum += log_sum_exp(row, math) - static_cast<double>(row[to_size(ids[position + 1])]);
    }
  }
  std::optional<double> mean_nll(std::size_t num_ids) const {
    if (num_ids < 2) return std::nullopt;
    return nll_sum / static_cast<double>(num_ids - 1);
  }
};

void print_json(const Summary& summary, std::size_t num_ids, std::ostream& out) {
  boost::json::array top;
  for (const TokenLogprob& t : summary.top) top.push_back(boost::json::array{t.id, t.logprob});
  boost::json::object object{{"num_tokens", num_ids}, {"top", std::move(top)}};
  if (const auto mean = summary.mean_nll(num_ids)) object["mean_nll"] = *mean;
  out << boost::json::serialize(object) << '\n' << std::flush;
}

void print_table(const Summary& summary, std::size_t num_ids, const ModelText& words, std::ostream& out) {
  out << fmt::format("tokens     {}\n", num_ids);
  if (const auto mean = summary.mean_nll(num_ids)) out << fmt::format("mean nll   {:.6f}\n", *mean);
  out << "most likely after the last token:\n     id    log p  piece\n";
  for (const TokenLogprob& t : summary.top)
    out << fmt::format("{:>7}  {:7.4f}  {}\n", t.id, t.logprob, escaped(words.detokenize({&t.id, 1})));
  out.flush();
}

Result<int> logits(const LogitsOptions& options, Context& context) {
  OCTAVO_TRY(const std::filesystem::path model, resolve_model(options.model, context));
  std::error_code ignored;
  if (!options.out.empty() && std::filesystem::equivalent(options.out, model, ignored))
    return fail("--out: {} is the model itself, expected another file", options.out);
  EngineOptions engine_options = options.engine;
  engine_options.max_sequences = 1;
  OCTAVO_TRY(const auto engine, load_engine(std::move(engine_options), model.string(), context));
  const auto vocab_size = to_size(engine->info().vocab_size);
  Request request;
  request.tokens = options.ids;
  request.max_tokens = -1;
  Summary summary{.math = Math(engine->info().bits), .top = {}, .not_finite = {}};
  std::optional<NpyWriter> npy;
  request.on_prompt_logits = [&](int first_position, std::span<const float> rows) {
    for (std::size_t r = 0; r * vocab_size < rows.size(); ++r)
      summary.add(options.ids, to_size(first_position) + r, rows.subspan(r * vocab_size, vocab_size));
    if (npy) npy->append(rows);
  };
  FinishReason finish = FinishReason::kNone;
  OCTAVO_TRY_VOID(engine->submit(std::move(request), [&](const TokenEvent& event) { finish = event.finish; }));
  if (!options.out.empty()) {
    OCTAVO_TRY(NpyWriter created, NpyWriter::create(options.out, options.ids.size(), vocab_size));
    npy.emplace(std::move(created));
  }
  engine->run();
  OCTAVO_CHECK(finish != FinishReason::kNone, "the engine ran out of work before the request's end");
  OCTAVO_TRY_VOID(check_not_failed(finish));
  if (npy) OCTAVO_TRY_VOID(npy->finish());
  if (summary.not_finite)
    return fail("{}: found logits that are not finite after id {} (row {} from 0){}", model.string(),
                options.ids[*summary.not_finite], *summary.not_finite, npy ? "; the file has all rows" : "");
  if (options.json) {
    print_json(summary, options.ids.size(), context.out);
  } else if (options.out.empty()) {
    print_table(summary, options.ids.size(), *engine->text(), context.out);
  }
  return finish_output(context);
}

}  // namespace

void add_logits_command(Program& program, Context& context) {
  auto options = std::make_shared<LogitsOptions>();
  Command& command = program.add_command("logits", "Computes the logits of given token ids");
  command.footer(
      "Row i holds the logits after id i: float32 [number of ids, vocabulary size].\n"
      "The ids are taken as they are, no BOS is added. JSON: num_tokens, mean_nll (of\n"
      "all ids but the first, in nats; absent for one id) and top, the 20 most likely\n"
      "tokens after the last id as [id, log-probability]. Logits that are NaN or\n"
      "infinite are an error (exit code 1, no JSON); the file is written all the same.\n\n"
      "Examples:\n"
      "  octavo logits --ids 1,2,3\n"
      "  octavo logits model.gguf --ids 1,2,3 --out logits.npy --json\n"
      "  octavo logits --ids \"$(octavo tokenize --ids 'Hello, world')\" --json");
  add_model_option(command, options->model);
  add_parsed(
      command, "--ids", "IDS", [](const std::string& text) { return parse_ids(text); },
      [options](std::vector<TokenId> ids) { options->ids = std::move(ids); },
      "Token ids, separated by commas or spaces")
      ->required();
  command.add_option("--out", options->out, "Write the logits to this file, in NumPy's format")
      ->check(refuse_empty)
      ->type_name("FILE");
  command.add_flag("--json", options->json, "Print one JSON object");
  add_engine_options(command, options->engine, context);
  command.action([options, &context] { return logits(*options, context); });
}

}  // namespace octavo::cli
