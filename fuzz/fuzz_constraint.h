// Constraints from any bytes, for the fuzz targets of each kind: a source is refused in words, or gives masks that
// accept() agrees with, within a bound on counted work and, where AddressSanitizer can count it, within 256 MiB of
// memory. scripts/fuzz gives the process a stack of 1 MiB.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "constraint/constraint_compiler.h"
#include "constraint/vocabulary.h"
#include "fuzz_bytes.h"

#if defined(__SANITIZE_ADDRESS__)
#define OCTAVO_COUNTS_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OCTAVO_COUNTS_MEMORY 1
#endif
#endif
#if defined(OCTAVO_COUNTS_MEMORY)
#include <sanitizer/allocator_interface.h>
#endif

namespace octavo {

#if defined(OCTAVO_COUNTS_MEMORY)
/// Counts what is allocated, and ends the run where it is too much at once.
class MemoryLimit {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

  static void install() { FUZZ_CHECK(__sanitizer_install_malloc_and_free_hooks(add, drop) != 0); }

 private:
  static std::atomic<std::size_t>& num_bytes() {
    static std::atomic<std::size_t> count = 0;
    return count;
  }
  static void add(const volatile void*, std::size_t size) { FUZZ_CHECK((num_bytes() += size) <= kMaxBytes); }
  static void drop(const volatile void* freed) {
    if (freed != nullptr) num_bytes() -= __sanitizer_get_allocated_size(freed);
  }
};
#endif

class FuzzedCompiler {
 public:
  static constexpr std::uint64_t kMaxSteps = 1 << 20;  // sanitizers make each several times as slow

  static constexpr std::size_t kMaxAutomata = std::size_t{64} << 20;

  FuzzedCompiler()
      : compiler_(vocabulary(), {.num_tokens = vocabulary()->size()}, std::make_shared<ConstraintMemory>(kMaxAutomata),
                  kMaxSteps) {}

  void check(const ConstraintSource& source, Bytes choices) {
    const auto compiled = compiler_.compile(source);
    FUZZ_CHECK(compiled.has_value() || !compiled.error().message.empty());
    if (compiled) follow(*compiled, choices);
  }

 private:
  static const std::shared_ptr<const ConstraintVocabulary>& vocabulary() {
    static const std::shared_ptr<const ConstraintVocabulary> made = [] {
#if defined(OCTAVO_COUNTS_MEMORY)
      MemoryLimit::install();
#endif
      std::vector<std::string> texts;
      for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
      for (const char* text : {"ab", "aa", "\":", "{\"", "\xE2\x82", "\x82\xAC", "  ", "}}", "01", "true"})
        texts.emplace_back(text);
      return test::make_vocabulary(std::move(texts));
    }();
    return made;
  }

  static void follow(const std::shared_ptr<const CompiledConstraint>& compiled, Bytes choices) {
    const ConstraintVocabulary& known = *compiled->vocabulary();
    ConstraintState state;
    state.begin(compiled, std::nullopt);
    for (int step = 0; step < 40; ++step) {
      const std::vector<TokenId> allowed = test::allowed_tokens(state, known);
      if (allowed.empty()) return;
      const auto token = static_cast<TokenId>(choices.next() % static_cast<int>(known.size()));
      const bool is_allowed = std::ranges::find(allowed, token) != allowed.end();
      ConstraintState tried = state;
      FUZZ_CHECK(tried.accept(token) == is_allowed);
      FUZZ_CHECK(state.accept(allowed[static_cast<std::size_t>(choices.next()) % allowed.size()]));
    }
  }

  ConstraintCompiler compiler_;
};

}  // namespace octavo
