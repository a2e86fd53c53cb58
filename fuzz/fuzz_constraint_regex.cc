// Any bytes as a regular expression, of a whole answer and within a schema.
#include "fuzz_constraint.h"
#include "json/json_string.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  const std::string text(reinterpret_cast<const char*>(data), size);
  FuzzedCompiler compiler;
  compiler.check({.kind = ConstraintKind::kRegex, .text = text}, Bytes({data, size}));
  compiler.check({.kind = ConstraintKind::kJsonSchema, .text = "{\"pattern\": " + json_string(text) + "}"},
                 Bytes({data, size}));
  return 0;
}
