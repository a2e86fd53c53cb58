// What tests say of a JSON schema: texts that it takes, texts that it does not.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/automaton/automaton.h"
#include "constraint/automaton/configurations.h"
#include "constraint/schema/json_schema.h"

namespace octavo::test {

/// A schema's automaton, for texts to be read by.
class SchemaUnderTest {
 public:
  explicit SchemaUnderTest(std::string_view schema, SchemaStrictness strictness = SchemaStrictness::kStrict,
                           OtherNames others = OtherNames::kAsWritten) {
    Grammar grammar;
    JsonGrammar json(grammar);
    const auto root = read_json_schema(schema, strictness, json, warnings_, others);
    if (!root) throw std::runtime_error(root.error().message);
    grammar.set_root(*root);
    auto automaton = Automaton::build(grammar);
    if (!automaton) throw std::runtime_error(automaton.error().message);
    automaton_.push_back(std::move(*automaton));
  }

  bool takes(std::string_view text) const {
    CallStacks stacks;
    ConfigurationStepper stepper(automaton_.front(), stacks);
    ConfigurationSet set = stepper.enter(automaton_.front().start());
    for (const char c : text) set = stepper.after_byte(set.members, static_cast<std::uint8_t>(c));
    return set.is_complete;
  }
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::size_t num_states() const { return automaton_.front().num_states(); }

 private:
  std::vector<Automaton> automaton_;  // one
  std::vector<std::string> warnings_;
};

/// The error of a strict schema; "": there is none.
inline std::string schema_error(std::string_view schema) {
  try {
    const SchemaUnderTest taken(schema);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace octavo::test
