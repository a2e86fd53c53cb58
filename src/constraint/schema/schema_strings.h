// Writes the strings that fulfil a way: their lengths, patterns and formats.
//
// One thread uses it; the parts of its constructor must outlive it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "constraint/schema/schema_parts.h"

namespace octavo {

class SchemaStrings {
 public:
  explicit SchemaStrings(const SchemaParts& parts) : parts_(parts), grammar_(parts.json.grammar()) {}

  /// The strings of a way, with their quotes.
  ExpressionId write(const SchemaFacts& way);
  /// Strings with quotes, one for each of the texts.
  ExpressionId quoted(const CharacterDfa& texts);
  /// The texts that pass the way's tests and are none of `other_texts`. No value: there is no test that the text must
  /// pass but its length, or one cannot be held.
  std::optional<CharacterDfa> tested_texts(const SchemaFacts& way, std::span<const std::string> other_texts);

 private:
  ExpressionId make(const SchemaFacts& way, std::span<const std::string> other_texts);
  std::string key_of(const SchemaFacts& way, std::span<const std::string> other_texts) const;
  std::optional<ExpressionId> untangled_text(const SchemaFacts& way, std::span<const std::string> other_texts);
  /// Writes characters of a set in their shortest form.
  CharacterWriter character_writer();

  SchemaParts parts_;
  Grammar& grammar_;
  std::map<std::string, ExpressionId> strings_;  // key_of() to the string
};

}  // namespace octavo
