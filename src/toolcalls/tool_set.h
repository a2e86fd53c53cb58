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
  /// `tools` as OpenAI's API has them: a list of {"type": "function", "function": {"name", "parameters"}}. What is none
  /// is passed over.
  explicit ToolSet(const TemplateValue& tools);
  ToolSet() = default;

  bool empty() const { return tools_.empty(); }
  bool has(std::string_view name) const { return tools_.contains(name); }
  /// Bits of JsonType. kAnyJson where the schema does not say it in a way that is understood (`type`, `enum`, `const`,
  /// `anyOf`, `oneOf`), or there is no such tool or parameter.
  std::uint8_t types_of(std::string_view tool, std::string_view parameter) const;

 private:
  using Parameters = std::map<std::string, std::uint8_t, std::less<>>;

  std::map<std::string, Parameters, std::less<>> tools_;
};

}  // namespace octavo
