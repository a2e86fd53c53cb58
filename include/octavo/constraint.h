// Constraints: what an answer's text must look like. A regular expression, a grammar, JSON by a schema, any JSON
// object, or one of some texts.
//
//     auto digits = engine->compile_constraint({.kind = octavo::ConstraintKind::kRegex, .text = "[0-9]{4}"});
//     if (!digits) return report(digits.error().message);
//     request.constraint = *digits;
//
// An answer under a constraint holds only tokens after which it can still be fulfilled, and ends where it is. What is
// taken of each kind is in docs/structured_output.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace octavo {

enum class ConstraintKind : std::uint8_t {
  kRegex,       // `text`, which the whole answer matches: ECMA-262's syntax
  kGrammar,     // `text`, in GBNF
  kJsonObject,  // the answer is any JSON object
  kChoice,      // the answer is one of `choices`
  kJsonSchema,  // the answer is a value that the JSON schema `text` takes
};

/// The way in which the values of JSON are written.
enum class ValueNotation : std::uint8_t {
  kJson,
  kPython,  // literals of Python: True, False, None, strings without JSON's longer forms
  kMarked,  // Gemma 4's: bare names, strings as they are between marks, no space
};

/// A rule that a grammar names and does not define.
struct ConstraintRule {
  enum class Kind : std::uint8_t {
    kJsonSchema,    // a value that a JSON schema takes; of kMarked, texts[0] is the mark around strings
    kTextWithout,   // any text in which none of `texts` stands; they begin with one character, and have it nowhere else
    kTextMatching,  // a text in which the pattern `texts[0]` is found, as in a schema, and the mark `texts[1]` is not
  };
  std::string name;
  Kind kind = Kind::kJsonSchema;
  std::vector<std::string> texts = {};
  std::size_t schema = 0;  // of kJsonSchema: one of ConstraintSource::schemas
  std::string place = {};  // of kJsonSchema: the part of it that is meant, as a JSON pointer; empty: all
  /// The place of the schema in what somebody wrote: errors and warnings name it. Empty: they name the rule.
  std::string origin = {};
  bool is_strict = false;  // of a schema or a pattern, as below
  ValueNotation notation = ValueNotation::kJson;
  std::int32_t mark_token = -1;  // that the mark is; below 0: it is written as text
};

struct ConstraintSource {
  ConstraintKind kind = ConstraintKind::kRegex;
  std::string text = {};
  std::vector<std::string> choices = {};
  /// Of a schema: what cannot be enforced is an error. Else the nearest looser rule is taken, and
  /// Constraint::warnings() says so.
  bool is_strict = false;
  /// How schemas are read, those among the rules too: objects whose schemas name `properties` and say nothing of other
  /// members have no others. Else they may, as JSON Schema has it.
  bool closes_objects = false;
  std::vector<ConstraintRule> rules = {};  // of a grammar
  /// The schemas that its rules take, in JSON. Rules that take parts of one share what these refer to.
  std::vector<std::string> schemas = {};
};

/// A constraint that Engine::compile_constraint() has made, for requests to the same engine. Immutable; any number of
/// requests may share it.
class Constraint {
 public:
  virtual ~Constraint() = default;
  Constraint(const Constraint&) = delete;
  Constraint& operator=(const Constraint&) = delete;

  /// Where answers may differ from what the source asks for, each with its place: "#/properties/a/uniqueItems: ...".
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  explicit Constraint(std::vector<std::string> warnings = {}) : warnings_(std::move(warnings)) {}

 private:
  std::vector<std::string> warnings_;
};

}  // namespace octavo
