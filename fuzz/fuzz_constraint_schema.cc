// Any bytes as a JSON schema, strict and not.
#include "fuzz_constraint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  const std::string text(reinterpret_cast<const char*>(data), size);
  FuzzedCompiler compiler;
  for (const bool is_strict : {false, true})
    compiler.check({.kind = ConstraintKind::kJsonSchema, .text = text, .is_strict = is_strict}, Bytes({data, size}));
  return 0;
}
