#include "constraint/schema/json_schema.h"

#include <utility>

#include "base/text.h"
#include "constraint/schema/schema_expander.h"
#include "constraint/schema/schema_nulls.h"
#include "constraint/schema/schema_writer.h"

namespace octavo {

struct JsonSchemaParts::State {
  State(JsonTree read, SchemaStrictness strictness, JsonGrammar& grammar, std::vector<std::string>& warnings,
        OtherNames others)
      : closes_objects(others == OtherNames::kClosed),
        tree(std::move(read)),
        json(grammar),
        report(tree, strictness == SchemaStrictness::kStrict, warnings, json.grammar().work()) {
    if (closes_objects) json.bound_numbers();
  }

  const bool closes_objects;
  JsonTree tree;
  JsonGrammar& json;
  CompileWork& work = json.grammar().work();
  const SchemaRefs refs{tree, work};
  SchemaTexts texts{tree, work};
  SchemaValidator validator{tree, refs, texts, work};
  SchemaReport report;
  SchemaExpander expander{tree, refs, texts, report};
  SchemaWriter writer{{.tree = tree,
                       .refs = refs,
                       .texts = texts,
                       .validator = validator,
                       .expander = expander,
                       .report = report,
                       .json = json,
                       .closes_objects = closes_objects}};
};

JsonSchemaParts::JsonSchemaParts(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonSchemaParts::JsonSchemaParts(JsonSchemaParts&&) noexcept = default;
JsonSchemaParts& JsonSchemaParts::operator=(JsonSchemaParts&&) noexcept = default;
JsonSchemaParts::~JsonSchemaParts() = default;

Result<JsonSchemaParts> JsonSchemaParts::read(std::string_view text, SchemaStrictness strictness, JsonGrammar& json,
                                              std::vector<std::string>& warnings, OtherNames others) {
  OCTAVO_TRY(JsonTree tree, JsonTree::parse(text));
  drop_null_keywords(tree);
  json.grammar().work().add(text.size());
  return JsonSchemaParts(std::make_unique<State>(std::move(tree), strictness, json, warnings, others));
}

Result<ExpressionId> JsonSchemaParts::value(std::string_view place) {
  const auto node = state_->tree.follow(JsonTree::kRoot, place);
  if (!node) return fail("found nothing at #{}, expected a schema", printable(place));
  const ExpressionId value = state_->writer.value({{.node = *node}});
  state_->writer.write_all();
  if (state_->report.failed()) return std::unexpected(state_->report.error());
  return value;
}

Result<ExpressionId> read_json_schema(std::string_view text, SchemaStrictness strictness, JsonGrammar& json,
                                      std::vector<std::string>& warnings, OtherNames others) {
  OCTAVO_TRY(JsonSchemaParts schema, JsonSchemaParts::read(text, strictness, json, warnings, others));
  return schema.value("");
}

}  // namespace octavo
