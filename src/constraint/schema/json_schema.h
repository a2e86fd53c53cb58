// JSON Schema as expressions of a grammar: draft 2020-12, and the other spellings of earlier drafts.
// docs/structured_output.md has the supported keywords.
//
//     JsonGrammar json(grammar);
//     std::vector<std::string> warnings;
//     OCTAVO_TRY(const ExpressionId value, read_json_schema(text, SchemaStrictness::kStrict, json, warnings));
//
// The function may be called by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/grammar/grammar.h"
#include "constraint/grammar/json_grammar.h"

namespace octavo {

enum class SchemaStrictness : std::uint8_t {
  kStrict,  // a keyword that no rule can hold is an error
  kLoose,   // the keyword is left out, or the nearest looser rule is taken, and a warning says so
};

/// The members that an object may have beside those that its schemas name.
enum class OtherNames : std::uint8_t {
  kAsWritten,  // any, unless a schema says otherwise
  kClosed,     // none, where a schema has `properties` and no schema speaks of others; and numbers without bounds have
               // at most JsonGrammar::kBoundedDigits digits
};

/// The values that the schema takes, in the order of its properties and with the white space of JsonGrammar. Several
/// schemas may be read into one grammar. Errors and warnings begin with the place in the schema, "#/properties/a".
/// Errors: no JSON; beyond a bound of JsonTree or Grammar; a keyword with a wrong value; a reference that leads back to
/// itself; where strict, a demand that cannot be held.
Result<ExpressionId> read_json_schema(std::string_view text, SchemaStrictness strictness, JsonGrammar& json,
                                      std::vector<std::string>& warnings, OtherNames others = OtherNames::kAsWritten);

/// Reads parts of one text, which is parsed once: definitions that several parts refer to are one rule. One thread uses
/// it; the grammar and the warnings outlive it.
class JsonSchemaParts {
 public:
  static Result<JsonSchemaParts> read(std::string_view text, SchemaStrictness strictness, JsonGrammar& json,
                                      std::vector<std::string>& warnings, OtherNames others = OtherNames::kAsWritten);
  JsonSchemaParts(JsonSchemaParts&&) noexcept;
  JsonSchemaParts& operator=(JsonSchemaParts&&) noexcept;
  ~JsonSchemaParts();

  /// The values of the part at a JSON pointer; "": the whole. Errors: no part is there; those above.
  Result<ExpressionId> value(std::string_view place);

 private:
  struct State;
  explicit JsonSchemaParts(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace octavo
