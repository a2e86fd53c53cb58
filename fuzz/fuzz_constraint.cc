// Any bytes as a regular expression, a grammar, choices and a JSON schema, strict and not. Each is refused in words, or
// gives masks that accept() agrees with, in bounded time.
#include <algorithm>
#include <string>
#include <vector>

#include "constraint/constraint_compiler.h"
#include "constraint/vocabulary.h"
#include "fuzz_bytes.h"

namespace {

using namespace octavo;

std::shared_ptr<const ConstraintVocabulary> vocabulary() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  for (const char* text : {"ab", "aa", "\":", "{\"", "\xE2\x82", "\x82\xAC", "  ", "}}", "01", "true"})
    texts.emplace_back(text);
  return test::make_vocabulary(std::move(texts));
}

void follow(const std::shared_ptr<const CompiledConstraint>& compiled, Bytes bytes) {
  const ConstraintVocabulary& known = *compiled->vocabulary();
  ConstraintState state;
  state.begin(compiled, std::nullopt);
  for (int step = 0; step < 40; ++step) {
    const std::vector<TokenId> allowed = test::allowed_tokens(state, known);
    if (allowed.empty()) return;
    const auto token = static_cast<TokenId>(bytes.next() % static_cast<int>(known.size()));
    const bool is_allowed = std::ranges::find(allowed, token) != allowed.end();
    ConstraintState tried = state;
    FUZZ_CHECK(tried.accept(token) == is_allowed);
    FUZZ_CHECK(state.accept(allowed[static_cast<std::size_t>(bytes.next()) % allowed.size()]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto known = vocabulary();
  const std::string text(reinterpret_cast<const char*>(data), size);
  ConstraintCompiler compiler(known, {.num_tokens = known->size()});
  for (const ConstraintSource& source :
       {ConstraintSource{.kind = ConstraintKind::kRegex, .text = text},
        ConstraintSource{.kind = ConstraintKind::kGrammar, .text = text},
        ConstraintSource{.kind = ConstraintKind::kGrammar, .text = "root ::= " + text},
        ConstraintSource{.kind = ConstraintKind::kChoice, .choices = {text, "a"}},
        ConstraintSource{.kind = ConstraintKind::kJsonSchema, .text = text},
        ConstraintSource{.kind = ConstraintKind::kJsonSchema, .text = text, .is_strict = true}}) {
    const auto compiled = compiler.compile(source);
    FUZZ_CHECK(compiled.has_value() || !compiled.error().message.empty());
    if (compiled) follow(*compiled, Bytes({data, size}));
  }
  return 0;
}
