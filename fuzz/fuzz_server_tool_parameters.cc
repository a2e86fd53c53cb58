// Any bytes as the parameters of a tool that must be called, in any of the formats: as the schema of its arguments,
// and as the schema and the pattern of one of them.
#include "base/to_size.h"
#include "fuzz_constraint.h"
#include "toolcalls/call_grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  Bytes bytes({data, size});
  const auto formats = tool_formats();
  const ToolFormat& format = *formats[to_size(bytes.next()) % formats.size()];
  const bool is_strict = bytes.next() % 2 == 1, is_single = bytes.next() % 2 == 1;
  const std::string text = size > 3 ? std::string(reinterpret_cast<const char*>(data) + 3, size - 3) : "{}";
  const OfferedParameter by_schema{.name = "p", .schema = text, .is_required = is_strict};
  const OfferedParameter by_place{.name = "properties", .place = "/properties/a"};
  const OfferedParameter by_pattern{.name = "q", .schema = R"({"type": "string"})", .pattern = text};
  const std::vector<OfferedTool> tools = {
      {.name = "f", .schema = text, .is_strict = is_strict, .parameters = {by_schema, by_pattern, by_place}},
      {.name = "g", .schema = "{}", .is_strict = false, .parameters = {}}};
  FuzzedCompiler compiler;
  compiler.check(call_grammar(format, tools, {.must_call = true, .is_single = is_single},
                              [](std::string_view) { return std::optional<TokenId>(); }),
                 bytes);
  return 0;
}
