#include "cli/bench/bench_drafts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <random>

#include "cli/generate.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kCode = R"(class Cart:
    """A cart that holds items and their prices."""

    def __init__(self, currency="EUR"):
        self.items = []
        self.currency = currency

    def add(self, name, price, quantity=1):
        if price < 0:
            raise ValueError("price must not be negative")
        self.items.append({"name": name, "price": price, "quantity": quantity})

    def total(self):
        result = 0
        for item in self.items:
            result += item["price"] * item["quantity"]
        return result
)";
constexpr std::string_view kQuote =
    "The harbour of the old town lies in a wide bay, sheltered from the north wind by a row of low hills. In the "
    "morning the fishing boats come back with their catch, and the market at the quay opens before the sun is over the "
    "roofs. The lighthouse at the end of the mole was built in 1871 after a storm had sunk four ships in one night. "
    "Its "
    "lamp burned oil until 1923, when the town got electric light.\n";
constexpr std::string_view kSchema =
    R"({"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},)"
    R"("roles":{"type":"array","items":{"enum":["reader","writer"]},"minItems":2,"maxItems":2}},)"
    R"("required":["id","name","roles"],"additionalProperties":false},"minItems":20})";
constexpr std::string_view kStory = "Once upon a time there was a fox who wanted to see the sea. One morning";

struct Text {
  std::string name;
  std::string prompt;
  bool has_schema = false;
  double acceptance = 0;  // the rate of a script; 0: no script
};

std::vector<Text> texts() {
  const std::string code(kCode), quote(kQuote);
  std::vector<Text> all = {
      {.name = "code, edited",
       .prompt = code + "\n# the same, for euros and dollars\n" + code + "\n# the same, for any currency\nclass"},
      {.name = "a quote", .prompt = quote + "\nThe same text again:\n" + quote + "\nThe same text again:\n"},
      {.name = "JSON under a schema", .prompt = "A list of twenty users:\n", .has_schema = true},
      {.name = "a story", .prompt = std::string(kStory)}};
  for (const double acceptance : {0.5, 0.7, 0.9})
    all.push_back({.name = fmt::format("scripted, {:.0f} % right", 100 * acceptance),
                   .prompt = std::string(kStory),
                   .acceptance = acceptance});
  return all;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

double rate(int tokens, const std::vector<double>& seconds) {
  const double middle = median(seconds);
  return middle > 0 ? tokens / middle : 0;
}

Result<Request> request_for(const Text& text, const ModelText& words, int max_tokens) {
  OCTAVO_TRY(std::vector<TokenId> tokens, words.tokenize(text.prompt, {}));
  Request request{.tokens = std::move(tokens),
                  .sampling = {.temperature = 0},
                  .max_tokens = max_tokens,
                  .ignore_eos = true,
                  .logprobs = false};
  if (text.acceptance > 0) request.sampling = {.temperature = 1, .seed = 1};  // it repeats itself little
  if (text.has_schema) {
    OCTAVO_TRY(request.constraint,
               words.compile_constraint({.kind = ConstraintKind::kJsonSchema, .text = std::string(kSchema)}));
  }
  return request;
}

/// The answer with so many tokens replaced that a share of `acceptance` is left.
std::vector<TokenId> scripted(std::vector<TokenId> answer, double acceptance, int vocab_size) {
  std::minstd_rand random(1);
  for (TokenId& token : answer)
    if (std::generate_canonical<double, 32>(random) >= acceptance) token = (token + 1) % vocab_size;
  return answer;
}

Result<Answer> timed(Engine& engine, const Request& request, std::vector<double>* seconds) {
  OCTAVO_TRY(Answer answer, generate(engine, request, [](std::string_view) { return true; }));
  if (seconds != nullptr) seconds->push_back(answer.stats.total_s - answer.stats.time_to_first_token_s);
  return answer;
}

/// Measures a text. False: Ctrl-C.
Result<bool> measure(const Text& text, Engine& engine, int max_tokens, int repeat, const InterruptGuard& guard,
                     DraftRow& row) {
  OCTAVO_TRY(Request drafted, request_for(text, *engine.text(), max_tokens));
  Request plain = drafted;
  plain.max_drafts = 0;
  OCTAVO_TRY(const Answer expected, timed(engine, plain, nullptr));  // this also warms the machine up
  if (text.acceptance > 0) drafted.prediction = scripted(expected.tokens, text.acceptance, engine.info().vocab_size);
  row.tokens = std::max(0, static_cast<int>(expected.tokens.size()) - 1);
  for (int i = 0; i < repeat && !guard.interrupted(); ++i) {
    OCTAVO_TRY_VOID(timed(engine, plain, &row.seconds_off));
    drafted.cache_domain = fmt::format("{} {}", text.name, i);  // else it has the answer of a measurement before
    OCTAVO_TRY(const Answer answer, timed(engine, drafted, &row.seconds_on));
    if (guard.interrupted()) return false;
    if (answer.tokens != expected.tokens) return fail("{}: the answer is another with drafts: a bug", text.name);
    row.drafted = answer.stats.drafted_tokens;
    row.right = answer.stats.accepted_draft_tokens;
  }
  return !guard.interrupted();
}

}  // namespace

double DraftRow::rate_off() const { return rate(tokens, seconds_off); }
double DraftRow::rate_on() const { return rate(tokens, seconds_on); }

Result<std::vector<DraftRow>> measure_drafts(Engine& engine, int max_tokens, int repeat, const InterruptGuard& guard) {
  std::vector<DraftRow> rows;
  for (const Text& text : texts()) {
    DraftRow row{.name = text.name};
    OCTAVO_TRY(const bool done, measure(text, engine, max_tokens, repeat, guard, row));
    if (!done) break;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string draft_table(std::span<const DraftRow> rows, BenchFormat format) {
  if (format == BenchFormat::kJson) {
    boost::json::array list;
    for (const DraftRow& row : rows)
      list.push_back({{"text", row.name},
                      {"tokens", row.tokens},
                      {"tokens_per_s_off", row.rate_off()},
                      {"tokens_per_s", row.rate_on()},
                      {"drafted_tokens", row.drafted},
                      {"accepted_draft_tokens", row.right}});
    return boost::json::serialize(boost::json::object{{"drafts", std::move(list)}}) + "\n";
  }
  const bool is_csv = format == BenchFormat::kCsv;
  std::string out = is_csv ? "text,tokens,tokens_per_s_off,tokens_per_s,times,drafted_tokens,accepted_draft_tokens\n"
                           : "| text | tokens | tokens/s, off | with drafts | times | drafted | right |\n"
                             "|---|---:|---:|---:|---:|---:|---:|\n";
  for (const DraftRow& row : rows) {
    const double off = row.rate_off(), on = row.rate_on(), times = off > 0 ? on / off : 0;
    out += is_csv ? fmt::format("\"{}\",{},{:.6g},{:.6g},{:.4g},{},{}\n", row.name, row.tokens, off, on, times,
                                row.drafted, row.right)
                  : fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.2f} | {} | {} |\n", row.name, row.tokens, off, on,
                                times, row.drafted, row.right);
  }
  return out;
}

}  // namespace octavo::cli
