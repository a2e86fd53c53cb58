#include "base/displayable.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace octavo {
namespace {

struct Range {
  std::uint32_t first, last;
};

constexpr auto kHidden = std::to_array<Range>({
    {0x00, 0x1F},        // C0
    {0x7F, 0x9F},        // DEL and C1
    {0x061C, 0x061C},    // Arabic letter mark
    {0x200B, 0x200B},    // zero width space
    {0x200E, 0x200F},    // left-to-right and right-to-left mark
    {0x2028, 0x202E},    // separators of lines and paragraphs, embeddings and overrides of direction
    {0x2060, 0x206F},    // word joiner, invisible operators, isolates of direction, deprecated controls
    {0xFEFF, 0xFEFF},    // byte order mark, or a space without width
    {0xFFF9, 0xFFFB},    // interlinear annotations
    {0xE0000, 0xE007F},  // tags: a copy of ASCII that nobody sees
});

}  // namespace

bool is_displayable(std::uint32_t code_point) {
  return std::ranges::none_of(
      kHidden, [code_point](const Range& range) { return code_point >= range.first && code_point <= range.last; });
}

DisplayStep next_display_step(std::string_view bytes) {
  const Utf8Step step = next_utf8_step(bytes);
  return {.length = step.length,
          .is_displayable = step.kind == Utf8Step::Kind::kCharacter && is_displayable(decode_utf8(bytes)),
          .is_incomplete = step.kind == Utf8Step::Kind::kIncomplete};
}

}  // namespace octavo
