#include "tokenizer/text/precompiled_charsmap.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {

namespace {

constexpr std::size_t kUnitBytes = 4;
constexpr std::size_t kWholeGraphemeBytes = 6;  // a shorter grapheme is looked up as a whole

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = kUnitBytes; i > 0; --i) number = number << 8 | static_cast<std::uint8_t>(bytes[i - 1]);
  return number;
}

/// A double array of Darts-clone (https://github.com/s-yata/darts-clone), read from untrusted bytes. A child of a node
/// is the unit at the node's offset XOR the child's byte, if that unit has the byte as its label.
class DoubleArray {
 public:
  explicit DoubleArray(std::string_view bytes) : bytes_(bytes), num_units_(bytes.size() / kUnitBytes) {}

  struct Text {
    std::string text;
    std::uint32_t value;
  };
  /// All texts. Texts may share their ends, so several ways may lead to a unit; the number of texts is bounded.
  Result<std::vector<Text>> texts() const {
    if (num_units_ == 0) return fail("found no unit of a double array, expected at least one");
    std::vector<Node> open = {{.unit = 0, .text = {}}};
    std::vector<Text> found;
    std::size_t num_nodes = 0;
    while (!open.empty()) {
      const Node node = std::move(open.back());
      open.pop_back();
      if (++num_nodes > PrecompiledCharsmap::kMaxNodes)
        return fail("found more than {} beginnings of texts, expected at most as many", PrecompiledCharsmap::kMaxNodes);
      const std::size_t base = node.unit ^ offset(node.unit);
      if (has_leaf(node.unit)) {
        if (base >= num_units_) return fail("found the unit {} of a double array of {}", base, num_units_);
        found.push_back({node.text, unit(base) & ~kIsLeaf});
      }
      OCTAVO_TRY_VOID(open_children(node.text, base, open));
    }
    return found;
  }

 private:
  struct Node {
    std::size_t unit;
    std::string text;
  };
  static constexpr std::uint32_t kIsLeaf = 1U << 31U;

  std::uint32_t unit(std::size_t i) const { return little_endian(bytes_.substr(i * kUnitBytes)); }
  bool has_leaf(std::size_t i) const { return (unit(i) >> 8U & 1U) != 0; }
  /// The offset: 21 bits, and a flag that says whether they count in steps of 256 units.
  std::size_t offset(std::size_t i) const { return to_size(unit(i) >> 10U) << ((unit(i) & (1U << 9U)) >> 6U); }

  Result<void> open_children(const std::string& text, std::size_t base, std::vector<Node>& open) const {
    for (unsigned byte = 1; byte < 256; ++byte) {
      const std::size_t child = base ^ byte;
      if (child >= num_units_ || (unit(child) & (kIsLeaf | 0xFFU)) != byte) continue;
      if (text.size() == PrecompiledCharsmap::kMaxTextBytes)
        return fail("found a text of more than {} bytes that begins with {}, expected at most as many", text.size(),
                    quote(text));
      open.push_back({child, text + static_cast<char>(byte)});
    }
    return {};
  }

  std::string_view bytes_;
  std::size_t num_units_;
};

/// The first user-perceived character of `text`, in bytes.
std::size_t grapheme_length(std::string_view text) {
  std::size_t length = utf8_announced_length(text.front());
  auto before = static_cast<utf8proc_int32_t>(decode_utf8(text));
  utf8proc_int32_t state = 0;
  while (length < text.size()) {
    const std::string_view rest = text.substr(length);
    const auto code_point = static_cast<utf8proc_int32_t>(decode_utf8(rest));
    if (utf8proc_grapheme_break_stateful(before, code_point, &state)) break;
    length += utf8_announced_length(rest.front());
    before = code_point;
  }
  return length;
}

}  // namespace

Result<PrecompiledCharsmap> PrecompiledCharsmap::parse(std::string_view bytes) {
  if (bytes.size() > kMaxBytes) return fail("found {} bytes, expected at most {}", bytes.size(), kMaxBytes);
  if (bytes.size() < kUnitBytes) return fail("found {} bytes, expected the size of a double array", bytes.size());
  const std::size_t size = little_endian(bytes);
  bytes.remove_prefix(kUnitBytes);
  if (size > bytes.size() || size % kUnitBytes != 0)
    return fail("found a double array of {} bytes, of which there are {}, expected whole units of {}", size,
                bytes.size(), kUnitBytes);
  OCTAVO_TRY(const auto texts, DoubleArray(bytes.substr(0, size)).texts());
  PrecompiledCharsmap map;
  map.replaced_ = bytes.substr(size);
  std::vector<TextTrie::Entry> entries;
  for (const auto& [text, begin] : texts) {
    std::string_view replacement =
        std::string_view(map.replaced_).substr(std::min<std::size_t>(begin, map.replaced_.size()));
    replacement = replacement.substr(0, kMaxReplacementBytes + 1);
    const std::size_t length = replacement.find('\0');
    if (length == std::string_view::npos)
      return fail("found the replacement of {} at byte {} of {}, expected at most {} bytes and a zero behind them",
                  quote(text), begin, map.replaced_.size(), kMaxReplacementBytes);
    replacement = replacement.substr(0, length);
    if (!is_valid_utf8(replacement))
      return fail("found {} in the place of {}, expected UTF-8", quote(replacement), quote(text));
    if (text.empty()) continue;
    entries.push_back({text, static_cast<std::int32_t>(map.replacements_.size())});
    map.replacements_.push_back({begin, static_cast<std::uint32_t>(replacement.size())});
    map.max_growth_ = std::max(map.max_growth_, (replacement.size() + text.size() - 1) / text.size());
  }
  OCTAVO_TRY(map.trie_, TextTrie::create(std::move(entries)));
  return map;
}

std::int32_t PrecompiledCharsmap::find(std::string_view part) const {
  TextTrie::Node node = TextTrie::kRoot;
  for (const char c : part) {
    node = trie_.next(node, c);
    if (node == TextTrie::kRoot) return -1;
    if (trie_.value(node) >= 0) return trie_.value(node);
  }
  return -1;
}

void PrecompiledCharsmap::append(std::string_view grapheme, std::string& out) const {
  const auto append_replaced = [&](std::string_view part) {
    const std::int32_t place = find(part);
    if (place < 0) return false;
    const Replacement& replacement = replacements_[to_size(place)];
    out += std::string_view(replaced_).substr(replacement.begin, replacement.length);
    return true;
  };
  if (grapheme.size() < kWholeGraphemeBytes && append_replaced(grapheme)) return;
  while (!grapheme.empty()) {
    const std::string_view character = grapheme.substr(0, utf8_announced_length(grapheme.front()));
    if (!append_replaced(character)) out += character;
    grapheme.remove_prefix(character.size());
  }
}

void PrecompiledCharsmap::apply(std::string_view text, std::string& out) const {
  out.clear();
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view grapheme = text.substr(0, grapheme_length(text));
    append(grapheme, out);
    text.remove_prefix(grapheme.size());
  }
}

}  // namespace octavo
