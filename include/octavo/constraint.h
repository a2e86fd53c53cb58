// Constraints on the text of an answer: a regular expression, a grammar, JSON by a schema, any JSON object, or one of
// some texts.
//
//     auto digits = engine->text()->compile_constraint({.kind = octavo::ConstraintKind::kRegex, .text = "[0-9]{4}"});
//     if (!digits) return report(digits.error().message);
//     request.constraint = *digits;
//
// An answer under a constraint has only tokens after which the constraint can still be fulfilled, and ends where it is.
// docs/structured_output.md has the syntax of each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace octavo {

enum class ConstraintKind : std::uint8_t {
  kRegex,       // the whole answer matches `text`, in ECMA-262's syntax
  kGrammar,     // the answer follows the grammar `text`, in GBNF
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
    kJsonSchema,    // a value that a JSON schema takes; in kMarked, texts[0] is the mark around strings
    kTextWithout,   // any text that has none of `texts`, which begin with one character and have it nowhere else
    kTextMatching,  // a text in which the pattern `texts[0]` is found, and the mark `texts[1]` is not
  };
  std::string name;
  Kind kind = Kind::kJsonSchema;
  std::vector<std::string> texts = {};
  std::size_t schema = 0;  // for kJsonSchema: the index in ConstraintSource::schemas
  std::string place = {};  // for kJsonSchema: the JSON pointer to the part that is meant; empty: all of it
  /// The place of the schema in its writer's text, which errors and warnings name; empty: they name the rule.
  std::string origin = {};
  bool is_strict = false;  // ConstraintSource::is_strict of this schema or pattern
  ValueNotation notation = ValueNotation::kJson;
  std::int32_t mark_token = -1;  // the token of the mark; below 0: the mark is written as text
};

struct ConstraintSource {
  ConstraintKind kind = ConstraintKind::kRegex;
  std::string text = {};
  std::vector<std::string> choices = {};
  /// A part of a schema that cannot be enforced is an error. Otherwise the nearest looser rule is taken, and
  /// Constraint::warnings() says so.
  bool is_strict = false;
  /// Objects whose schemas name `properties` and say nothing of other members have no others; this holds for schemas of
  /// rules too. Otherwise objects may have others, as in JSON Schema.
  bool closes_objects = false;
  std::vector<ConstraintRule> rules = {};  // the rules of a grammar that are defined here
  /// The JSON schemas of the rules. Rules that take parts of one schema share the definitions that they refer to.
  std::vector<std::string> schemas = {};
};

/// A constraint that ModelText::compile_constraint() has made, for requests to the same engine. It is immutable, and
/// any number of requests may share it.
class Constraint {
 public:
  virtual ~Constraint() = default;
  Constraint(const Constraint&) = delete;
  Constraint& operator=(const Constraint&) = delete;

  /// The places where answers may differ from what the source asks for: "#/properties/a/uniqueItems: ...".
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  explicit Constraint(std::vector<std::string> warnings = {}) : warnings_(std::move(warnings)) {}

 private:
  std::vector<std::string> warnings_;
};

}  // namespace octavo
