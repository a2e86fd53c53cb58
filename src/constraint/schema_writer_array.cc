// Arrays: their elements and how many there are.
#include <algorithm>

#include "constraint/schema_writer.h"

namespace octavo {
namespace {

constexpr std::uint32_t kMaxContained = 64;

}  // namespace

ExpressionId SchemaWriter::array(const SchemaFacts& way) {
  const auto elements = elements_of(way);
  if (!elements) return Grammar::nothing();
  if (way.unique_keyword && elements->max > 1)
    parts_.report.cannot_hold(*way.unique_keyword, "whether elements are unique is more than a rule can say");
  const ExpressionId inner = way.contained.empty() ? list(*elements) : containing(way, *elements);
  return grammar_.sequence({grammar_.literal("["), parts_.json.space(), inner, grammar_.literal("]")});
}

/// No value: no array fulfils them.
std::optional<SchemaWriter::Elements> SchemaWriter::elements_of(const SchemaFacts& way) {
  Elements elements{.min = way.min_items, .max = way.max_items};
  std::vector<ElementSchemas> layers;
  std::size_t num_first = 0;
  for (const NodeId layer : way.array_layers) {
    if (grammar_.work().has_ended()) return std::nullopt;
    layers.emplace_back(parts_.tree, layer);
    grammar_.work().add(layers.back().num_first());
    num_first = std::max(num_first, layers.back().num_first());
  }
  const auto schemas_at = [&](std::size_t index) {
    SchemaSet schemas;
    grammar_.work().add(layers.size());
    for (const ElementSchemas& layer : layers)
      if (const auto schema = layer.at(index)) schemas.push_back({.node = *schema});
    make_set(schemas);
    return schemas;
  };
  const auto end_at = [&](std::size_t index) {
    elements.max = std::min(elements.max, static_cast<std::uint32_t>(index));
  };
  for (std::size_t i = 0; i < num_first && i < elements.max && !parts_.report.failed(); ++i) {
    elements.first.push_back(schemas_at(i));
    if (is_false(elements.first.back())) end_at(i);
  }
  elements.rest = schemas_at(num_first);
  if (is_false(elements.rest)) end_at(num_first);
  if (elements.first.size() > elements.max) elements.first.resize(elements.max);
  if (elements.min > elements.max) return std::nullopt;
  return elements;
}

/// The elements with commas between them, and the space behind the last one.
ExpressionId SchemaWriter::list(const Elements& elements) {
  if (elements.max == 0) return grammar_.empty();
  const auto num_first = static_cast<std::uint32_t>(elements.first.size());
  const auto minus = [](std::uint32_t count, std::uint32_t less) {
    return count == SchemaFacts::kNoLimit ? count : count > less ? count - less : 0;
  };
  ExpressionId first = num_first == 0 ? value(elements.rest) : Grammar::nothing();
  ExpressionId more = grammar_.empty();  // behind the elements so far
  if (elements.max > num_first) {
    const ExpressionId further = grammar_.sequence({comma(), value(elements.rest)});
    const std::uint32_t before = std::max<std::uint32_t>(num_first, 1);
    more = grammar_.repeat(further, minus(elements.min, before), minus(elements.max, before));
  }
  for (std::uint32_t i = num_first; i-- > 0;) {
    const ExpressionId element = value(elements.first[i]);
    if (i == 0) {
      first = element;
      break;
    }
    more = grammar_.sequence({comma(), element, more});
    if (i >= elements.min) more = grammar_.optional(more);
    if (i % 64 == 0) more = grammar_.named("elements", more);  // so that expressions stay flat
  }
  const ExpressionId all = grammar_.sequence({first, more, parts_.json.space()});
  return elements.min == 0 ? grammar_.optional(all) : all;
}

/// Some elements pass the test: others stand before, between and behind them.
ExpressionId SchemaWriter::containing(const SchemaFacts& way, const Elements& elements) {
  const ContainedTest& test = way.contained.front();
  const bool is_plain = way.contained.size() == 1 && !test.has_max && test.min <= kMaxContained;
  if (!is_plain || !elements.first.empty() || elements.max != SchemaFacts::kNoLimit || elements.min > test.min) {
    parts_.report.cannot_hold(test.keyword,
                              "beside prefixItems, minItems, maxItems or maxContains it is not supported");
    return list(elements);
  }
  SchemaSet both = elements.rest;
  both.push_back(test.schema);
  make_set(both);
  const ExpressionId other = value(elements.rest), held = value(both);
  const ExpressionId before = grammar_.repeat(grammar_.sequence({other, comma()}), 0, Grammar::kAnyNumber);
  const ExpressionId once = grammar_.sequence({before, held});
  const ExpressionId further = grammar_.repeat(grammar_.sequence({comma(), once}), test.min - 1, test.min - 1);
  const ExpressionId behind = grammar_.repeat(grammar_.sequence({comma(), other}), 0, Grammar::kAnyNumber);
  return grammar_.sequence({once, further, behind, parts_.json.space()});
}

}  // namespace octavo
