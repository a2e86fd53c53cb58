// The parts that make rules of one schema, as its writers use them together.
//
// The references are to members of a JsonSchemaParts; one thread uses them.
#pragma once

#include "constraint/grammar/json_grammar.h"
#include "constraint/schema/json_tree.h"
#include "constraint/schema/schema_expander.h"
#include "constraint/schema/schema_refs.h"
#include "constraint/schema/schema_report.h"
#include "constraint/schema/schema_texts.h"
#include "constraint/schema/schema_validator.h"

namespace octavo {

struct SchemaParts {
  JsonTree& tree;
  const SchemaRefs& refs;
  SchemaTexts& texts;
  SchemaValidator& validator;
  SchemaExpander& expander;
  SchemaReport& report;
  JsonGrammar& json;
  bool closes_objects = false;  // OtherNames::kClosed

  CompileWork& work() const { return json.grammar().work(); }
};

}  // namespace octavo
