#include "constraint/json_schema.h"

#include "constraint/schema_expander.h"
#include "constraint/schema_writer.h"

namespace octavo {

Result<ExpressionId> read_json_schema(std::string_view text, SchemaStrictness strictness, JsonGrammar& json,
                                      std::vector<std::string>& warnings) {
  OCTAVO_TRY(JsonTree tree, JsonTree::parse(text));
  CompileWork& work = json.grammar().work();
  work.add(text.size());
  const SchemaRefs refs(tree, work);
  SchemaTexts texts(tree, work);
  SchemaValidator validator(tree, refs, texts, work);
  SchemaReport report(tree, strictness == SchemaStrictness::kStrict, warnings, work);
  SchemaExpander expander(tree, refs, texts, report);
  SchemaWriter writer(
      {.tree = tree, .texts = texts, .validator = validator, .expander = expander, .report = report, .json = json});
  const ExpressionId value = writer.value({{.node = JsonTree::kRoot}});
  writer.write_all();
  if (report.failed()) return std::unexpected(report.error());
  return value;
}

}  // namespace octavo
