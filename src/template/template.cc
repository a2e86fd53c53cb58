#include "template/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/text.h"
#include "template/parse/names.h"
#include "template/parse/statement_parser.h"
#include "template/run/statement_runner.h"
#include "template/values/evaluation.h"

namespace octavo::jinja {

namespace {

// The budget of compiling a template of the largest size.
constexpr Budget kCompileBudget{.bytes = std::size_t{128} << 20, .steps = 1'000'000};
// The budget of a rendering: far more than any template in use needs, and spent within a tenth of a second.
constexpr Budget kRenderBudget{.bytes = std::size_t{32} << 20, .steps = 500'000};
// Each byte of the input adds one step, and memory for so many bytes: templates read their input several times, some
// once for each message.
constexpr std::size_t kBytesOfAnInputByte = 32;

std::string message_of(const Failure& failure, Position place) {
  if (failure.where.line != 0) place = failure.where;
  if (place.line == 0) return fmt::format("chat template: {}", failure.message);
  return fmt::format("chat template, line {}, column {}: {}", place.line, place.column, failure.message);
}

/// The source as jinja2 sees it: lines end with "\n", and the last line has no end.
std::string normalize(std::string_view source) {
  std::string lines;
  lines.reserve(source.size());
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\r' && at + 1 < source.size() && source[at + 1] == '\n') continue;
    lines += source[at] == '\r' ? '\n' : source[at];
  }
  if (lines.ends_with('\n')) lines.pop_back();
  return lines;
}

}  // namespace

Template::Template() : arena_(std::make_unique<Arena>(kCompileBudget)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::compile(std::string_view source) {
  if (source.size() > kMaxBytes)
    return fail("chat template: it has {} bytes, expected at most {}", source.size(), kMaxBytes);
  Template compiled;
  if (!is_valid_utf8(source)) return fail("chat template: found bytes that are no UTF-8, expected UTF-8");
  compiled.source_ = std::make_unique<std::string>(normalize(source));
  try {
    Arena& arena = *compiled.arena_;
    TokenStream tokens(arena, cut_tokens(arena, *compiled.source_));
    Tree* tree = arena.make<Tree>();
    tree->body = StatementParser(tokens).parse();
    resolve_names(arena, *tree);
    compiled.tree_ = tree;
  } catch (const Failure& failure) {
    return fail("{}", message_of(failure, {}));
  }
  return compiled;
}

Result<std::vector<RenderedSpan>> Template::render(const TemplateInput& input, const std::tm& now) const {
  Budget any{.bytes = SIZE_MAX, .steps = UINT64_MAX};
  return render(input, now, any);
}

Result<std::vector<RenderedSpan>> Template::render(const TemplateInput& input, const std::tm& now, Budget& left) const {
  Budget budget = kRenderBudget;
  budget.bytes = std::min(left.bytes, budget.bytes + kBytesOfAnInputByte * input.bytes_built());
  budget.steps = std::min(left.steps, budget.steps + input.bytes_built());
  budget.work = left.work;
  Evaluation evaluation(budget, now);
  Result<std::vector<RenderedSpan>> spans;
  try {
    DictBuilder names(evaluation.arena());
    for (const auto& [name, value] : input.names()) names.put(name, value);
    TextBuilder out(evaluation.arena());
    StatementRunner(evaluation, *names.finish()).run(*tree_, out);
    std::size_t begin = 0;
    for (const OriginSpan& span : out.spans()) {
      spans->push_back({std::string(out.bytes().substr(begin, span.end - begin)), span.origin});
      begin = span.end;
    }
  } catch (const Failure& failure) {
    const bool is_stopped = left.work != nullptr && left.work->is_stopped();
    spans = is_stopped ? std::unexpected(left.work->stopped()) : fail("{}", message_of(failure, evaluation.where()));
  }
  left.bytes -= evaluation.arena().bytes_built();
  left.steps -= evaluation.arena().steps_taken();
  return spans;
}

}  // namespace octavo::jinja
