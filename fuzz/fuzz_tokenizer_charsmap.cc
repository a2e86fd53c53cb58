// Any bytes as SentencePiece's table of replacements, alone and over one that is right, and any text with that one. A
// table is refused in words, or texts stay whole characters and grow no more than it says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/utf8.h"
#include "fuzz_bytes.h"
#include "tokenizer/text/precompiled_charsmap.h"

namespace {

using namespace octavo;

void check(const PrecompiledCharsmap& map, std::string_view text) {
  std::string out;
  map.apply(text, out);
  FUZZ_CHECK(is_valid_utf8(out));
  FUZZ_CHECK(out.size() <= text.size() * map.max_growth());
}

void check_table(const std::string& table) {
  const auto map = PrecompiledCharsmap::parse(table);
  if (!map) {
    FUZZ_CHECK(!map.error().message.empty());
    return;
  }
  for (const std::string_view text :
       {"", "Aa\t\r\n e\u0301\uFB01\uFDFA", "\u0915\u094D\u0937\U0001F468\u200D\U0001F469"})
    check(*map, text);
  check(*map, to_valid_utf8(table));
}

/// A table in which "A" becomes "a", and "\xC3\xA9" becomes "e": units of a double array, and the replacements.
std::string right_table() {
  constexpr std::uint32_t kIsLeaf = 1U << 31U, kHasLeaf = 1U << 8U;
  constexpr std::uint32_t kRootBase = 256, kA = kRootBase ^ 0x41U, kC3 = kRootBase ^ 0xC3U;
  constexpr std::uint32_t kABase = 600, kC3Base = 768, kA9 = kC3Base ^ 0xA9U, kA9Base = 700;
  std::uint32_t units[1024] = {};
  units[0] = kRootBase << 10U;
  units[kA] = (kA ^ kABase) << 10U | kHasLeaf | 0x41U;
  units[kABase] = kIsLeaf;
  units[kC3] = (kC3 ^ kC3Base) << 10U | 0xC3U;
  units[kA9] = (kA9 ^ kA9Base) << 10U | kHasLeaf | 0xA9U;
  units[kA9Base] = kIsLeaf | 2U;
  std::string table;
  const auto append = [&table](std::uint32_t number) {
    for (unsigned i = 0; i < 4; ++i) table += static_cast<char>(number >> (8 * i));
  };
  append(sizeof(units));
  for (const std::uint32_t unit : units) append(unit);
  return table.append("a\0e\0", 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  check_table(input);
  static const std::string right = right_table();
  static const auto map = PrecompiledCharsmap::parse(right);
  FUZZ_CHECK(map.has_value() && map->num_texts() == 2);
  check(*map, to_valid_utf8(input));
  // Each three bytes are a place and what is written there.
  std::string changed = right;
  for (std::size_t i = 0; i + 3 <= size; i += 3)
    changed[(data[i] << 8U | data[i + 1]) % changed.size()] = static_cast<char>(data[i + 2]);
  check_table(changed);
  return 0;
}
