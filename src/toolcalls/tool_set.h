// The tools that a request offers, as far as the reading of calls needs them: their names, and the types that their
// parameters may have.
//
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "octavo/chat.h"
#include "toolcalls/json_scanner.h"

namespace octavo {

class ToolSet {
 public:
  /// `tools` is a list of OpenAI's API: {"type": "function", "function": {"name", "parameters"}}. Other elements are
  /// passed over.
  explicit ToolSet(const TemplateValue& tools);
  ToolSet() = default;

  bool empty() const { return tools_.empty(); }
  bool has(std::string_view name) const { return tools_.contains(name); }
  /// The bits of JsonType of a parameter. kAnyJson where `type`, `enum`, `const`, `anyOf` and `oneOf` of the schema do
  /// not name them, or the tool or the parameter is unknown.
  std::uint8_t types_of(std::string_view tool, std::string_view parameter) const;

 private:
  using Parameters = std::map<std::string, std::uint8_t, std::less<>>;

  std::map<std::string, Parameters, std::less<>> tools_;
};

}  // namespace octavo
