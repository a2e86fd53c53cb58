// Any bytes as a grammar, as the body of its root, and as choices.
#include "fuzz_constraint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  const std::string text(reinterpret_cast<const char*>(data), size);
  FuzzedCompiler compiler;
  compiler.check({.kind = ConstraintKind::kGrammar, .text = text}, Bytes({data, size}));
  compiler.check({.kind = ConstraintKind::kGrammar, .text = "root ::= " + text}, Bytes({data, size}));
  compiler.check({.kind = ConstraintKind::kChoice, .choices = {text, "a"}}, Bytes({data, size}));
  return 0;
}
