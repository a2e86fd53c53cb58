// The parts that make rules of one schema, as its writers use them together.
//
// The references are to members of a JsonSchemaParts; one thread uses them.
#pragma once

#include "constraint/json_grammar.h"
#include "constraint/json_tree.h"
#include "constraint/schema_expander.h"
#include "constraint/schema_refs.h"
#include "constraint/schema_report.h"
#include "constraint/schema_texts.h"
#include "constraint/schema_validator.h"

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
