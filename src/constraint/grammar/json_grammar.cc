#include "constraint/grammar/json_grammar.h"

#include "constraint/grammar/text_without.h"
#include "json/json_string.h"

namespace octavo {
namespace {

constexpr std::uint32_t kMarkBegin = '<';
constexpr std::size_t kFewCharacters = 4;  // sets of so few characters are written out wherever they occur

CodePointSet range(std::uint32_t first, std::uint32_t last) {
  CodePointSet set;
  set.add(first, last + 1);
  return set;
}

CodePointSet one_of(std::string_view characters) {
  CodePointSet set;
  for (const char c : characters) set.add(static_cast<std::uint32_t>(c));
  return set;
}

/// The characters that a string has without escapes.
CodePointSet plain_characters() {
  const CodePointSet set = range(0x20, CodePointSet::kLimit - 1);
  CodePointSet escaped('"');
  escaped.add('\\');
  return set.intersection(escaped.complement());
}

CodePointSet all_beyond_ascii() { return range(0x80, CodePointSet::kLimit - 1); }

/// Whether Gemma's template writes a name as it is; names by which its calls could not be read are between marks.
bool is_bare(std::string_view name) {
  return !name.empty() && name.find_first_of(":,{}[]<>\"' \t\r\n") == std::string_view::npos;
}

CodePointSet digits() { return range('0', '9'); }

}  // namespace

ExpressionId JsonGrammar::null() {
  return grammar_.literal(form_.notation == ValueNotation::kPython ? "None" : "null");
}

ExpressionId JsonGrammar::boolean(bool value) {
  if (form_.notation == ValueNotation::kPython) return grammar_.literal(value ? "True" : "False");
  return grammar_.literal(value ? "true" : "false");
}

ExpressionId JsonGrammar::quote() {
  if (form_.mark_token) return grammar_.token(*form_.mark_token);
  return grammar_.literal(is_marked() ? form_.mark : "\"");
}

ExpressionId JsonGrammar::quoted(ExpressionId characters) { return grammar_.sequence({quote(), characters, quote()}); }

ExpressionId JsonGrammar::text(std::string_view text) {
  if (!is_marked()) return grammar_.literal(json_string(text));
  return text.contains(form_.mark) ? Grammar::nothing() : quoted(grammar_.literal(text));
}

ExpressionId JsonGrammar::colon() {
  const ExpressionId sign = grammar_.literal(":");
  return is_marked() ? sign : grammar_.sequence({sign, grammar_.optional(grammar_.literal(" "))});
}

ExpressionId JsonGrammar::key(std::string_view name) {
  return key(is_marked() && is_bare(name) ? grammar_.literal(name) : text(name));
}

ExpressionId JsonGrammar::space() {
  if (is_marked()) return grammar_.empty();
  if (space_) return *space_;
  const ExpressionId indent = grammar_.repeat(grammar_.set(one_of(" \t")), 0, kMaxIndent);
  const ExpressionId line = grammar_.sequence({grammar_.literal("\n"), indent});
  space_ = grammar_.named("space", grammar_.optional(grammar_.alternatives({grammar_.literal(" "), line})));
  return *space_;
}

ExpressionId JsonGrammar::hex_digits(std::uint32_t count) {
  return grammar_.repeat(grammar_.set(one_of("0123456789abcdefABCDEF")), count, count);
}

/// The digits after \u: a code unit by itself, or a pair of surrogates.
ExpressionId JsonGrammar::escaped_unit() {
  const ExpressionId d = grammar_.set(one_of("dD"));
  const ExpressionId below_d = grammar_.sequence({grammar_.set(one_of("0123456789abcABCefEF")), hex_digits(3)});
  const ExpressionId alone = grammar_.sequence({d, grammar_.set(range('0', '7')), hex_digits(2)});
  const ExpressionId pair =
      grammar_.sequence({d, grammar_.set(one_of("89abAB")), hex_digits(2), grammar_.literal("\\u"), d,
                         grammar_.set(one_of("cdefCDEF")), hex_digits(2)});
  return grammar_.alternatives({below_d, alone, pair});
}

ExpressionId JsonGrammar::any_character() {
  if (any_character_) return *any_character_;
  if (!is_json()) {
    any_character_ = grammar_.named("character", character(range(0, CodePointSet::kLimit - 1)));
    return *any_character_;
  }
  const ExpressionId short_escape = grammar_.set(one_of("\"\\/bfnrt"));
  const ExpressionId long_escape = grammar_.sequence({grammar_.literal("u"), escaped_unit()});
  const ExpressionId escape =
      grammar_.sequence({grammar_.literal("\\"), grammar_.alternatives({short_escape, long_escape})});
  const ExpressionId rare =
      grammar_.alternatives({grammar_.set(plain_characters().intersection(all_beyond_ascii())), escape});
  any_character_ =
      grammar_.alternatives({grammar_.set(plain_characters().intersection(all_beyond_ascii().complement())),
                             grammar_.named("character", rare)});
  return *any_character_;
}

ExpressionId JsonGrammar::characters(std::uint32_t min, std::uint32_t max) {
  return grammar_.repeat(any_character(), min, max);
}

/// Characters beyond ASCII, or those that strings must escape, in their shortest forms; a rule, where there are many.
ExpressionId JsonGrammar::rare(const CodePointSet& set) {
  const auto known = rare_.find(set);
  if (known != rare_.end()) return known->second;
  const bool is_escaped = !set.ranges().empty() && set.ranges().front().begin < 0x80;
  ExpressionId form = is_escaped ? grammar_.alternatives(escapes_of(set)) : grammar_.set(set);
  std::size_t count = 0;
  for (const CodePointSet::Range& range : set.ranges()) count += range.end - range.begin;
  if (count > kFewCharacters) form = grammar_.named("rare", form);
  return rare_.emplace(set, form).first->second;
}

std::vector<ExpressionId> JsonGrammar::escapes_of(const CodePointSet& set) {
  std::vector<ExpressionId> forms;
  const CodePointSet escaped = set.intersection(plain_characters().complement());
  for (const CodePointSet::Range& range : escaped.ranges())
    for (std::uint32_t c = range.begin; c < range.end; ++c) {
      const std::string form = json_string(std::string(1, static_cast<char>(c)));
      forms.push_back(grammar_.literal(std::string_view(form).substr(1, form.size() - 2)));
    }
  return forms;
}

ExpressionId JsonGrammar::character(const CodePointSet& set) {
  const auto known = characters_.find(set);  // an automaton over characters has few sets and many edges
  return known != characters_.end() ? known->second : characters_.emplace(set, make_character(set)).first->second;
}

ExpressionId JsonGrammar::make_character(const CodePointSet& set) {
  if (is_marked()) return grammar_.set(set.intersection(CodePointSet(kMarkBegin).complement()));
  std::vector<ExpressionId> forms = {
      grammar_.set(set.intersection(plain_characters()).intersection(all_beyond_ascii().complement()))};
  forms.push_back(rare(set.intersection(all_beyond_ascii())));
  const CodePointSet escaped = set.intersection(plain_characters().complement());
  if (!escaped.ranges().empty()) forms.push_back(rare(escaped));
  std::erase(forms, Grammar::nothing());
  return grammar_.alternatives(std::move(forms));
}

ExpressionId JsonGrammar::string() {
  if (string_) return *string_;
  const ExpressionId characters = is_marked() ? text_without({&form_.mark, 1}, grammar_).value_or(Grammar::nothing())
                                              : grammar_.repeat(any_character(), 0, Grammar::kAnyNumber);
  string_ = grammar_.named("string", quoted(characters));
  return *string_;
}

ExpressionId JsonGrammar::integer() {
  if (integer_) return *integer_;
  const std::uint32_t most = bounds_numbers_ ? kBoundedDigits - 1 : Grammar::kAnyNumber;
  const ExpressionId more = grammar_.repeat(grammar_.set(digits()), 0, most);
  const ExpressionId positive = grammar_.sequence({grammar_.set(range('1', '9')), more});
  integer_ = grammar_.named("integer", grammar_.sequence({grammar_.optional(grammar_.literal("-")),
                                                          grammar_.alternatives({grammar_.literal("0"), positive})}));
  return *integer_;
}

ExpressionId JsonGrammar::number() {
  if (number_) return *number_;
  const auto some_digits = [&](std::uint32_t most) {
    return grammar_.repeat(grammar_.set(digits()), 1, bounds_numbers_ ? most : Grammar::kAnyNumber);
  };
  const ExpressionId fraction = grammar_.sequence({grammar_.literal("."), some_digits(kBoundedDigits)});
  const ExpressionId exponent =
      grammar_.sequence({grammar_.set(one_of("eE")), grammar_.optional(grammar_.set(one_of("+-"))), some_digits(3)});
  number_ = grammar_.named("number",
                           grammar_.sequence({integer(), grammar_.optional(fraction), grammar_.optional(exponent)}));
  return *number_;
}

ExpressionId JsonGrammar::list(char open, ExpressionId item, char close) {
  const ExpressionId comma = grammar_.sequence({grammar_.literal(","), space(), item});
  const ExpressionId items = grammar_.sequence({item, grammar_.repeat(comma, 0, Grammar::kAnyNumber), space()});
  return grammar_.sequence(
      {grammar_.literal({&open, 1}), space(), grammar_.optional(items), grammar_.literal({&close, 1})});
}

ExpressionId JsonGrammar::object() {
  if (object_) return *object_;
  const RuleId rule = grammar_.declare("object");
  object_ = grammar_.call(rule);
  const ExpressionId member = grammar_.sequence({key(string()), value()});
  grammar_.define(rule, list('{', member, '}'));
  return *object_;
}

ExpressionId JsonGrammar::array() {
  if (array_) return *array_;
  const RuleId rule = grammar_.declare("array");
  array_ = grammar_.call(rule);
  grammar_.define(rule, list('[', value(), ']'));
  return *array_;
}

ExpressionId JsonGrammar::value() {
  if (value_) return grammar_.call(*value_);
  value_ = grammar_.declare("value");
  grammar_.define(
      *value_, grammar_.alternatives({object(), array(), string(), number(), boolean(true), boolean(false), null()}));
  return grammar_.call(*value_);
}

}  // namespace octavo
