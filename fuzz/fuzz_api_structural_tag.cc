// Structural tags of any marks: each becomes a grammar, or is refused in words, and what is asked of the vocabulary is
// no longer than the marks. The input chooses the marks' pieces, among them many beginnings of tokens and few ends.
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/fields/structural_tag.h"
#include "fuzz_bytes.h"

namespace {

using namespace octavo;
namespace json = boost::json;

std::string mark_of(Bytes& bytes) {
  static constexpr std::array<std::string_view, 8> kPieces = {"<", ">", "<call>", "<|", "|>", "a", "</f>", "\n"};
  std::string mark;
  for (int i = bytes.below(40); i > 0; --i) {
    const std::string_view piece = kPieces[static_cast<std::size_t>(bytes.below(8))];
    for (int times = bytes.below(6) == 0 ? 1 + bytes.below(200) : 1; times > 0; --times) mark += piece;
  }
  return mark;
}

json::object tag_of(Bytes& bytes, bool has_content) {
  json::object tag{{"begin", mark_of(bytes)}, {"end", mark_of(bytes)}};
  const json::value schema = bytes.below(2) == 0 ? json::value(true) : json::value(json::object{{"const", 1}});
  if (has_content) {
    tag["content"] = json::object{{"type", "json_schema"}, {"json_schema", schema}};
  } else {
    tag["schema"] = schema;
  }
  return tag;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes({data, size});
  const bool has_content = bytes.below(2) == 0;
  json::array tags, triggers;
  std::size_t mark_bytes = 0;
  for (int i = bytes.below(6); i >= 0; --i) {
    const json::object tag = tag_of(bytes, has_content);
    mark_bytes += tag.at("begin").as_string().size() + tag.at("end").as_string().size();
    if (bytes.below(8) > 0) triggers.emplace_back(tag.at("begin").as_string().subview(0, 3));
    tags.push_back(tag);
  }
  const json::object asked = has_content
                                 ? json::object{{"format", json::object{{"type", "triggered_tags"},
                                                                        {"triggers", triggers},
                                                                        {"tags", tags},
                                                                        {"at_least_one", bytes.below(2) == 0},
                                                                        {"stop_after_first", bytes.below(2) == 0}}}}
                                 : json::object{{"triggers", triggers}, {"structures", tags}};
  std::size_t num_asked = 0;
  const auto source =
      structural_tag(JsonCursor(asked, "tag"), [&num_asked](std::string_view text) -> std::optional<TokenId> {
        num_asked += text.size();
        return text == "<call>" ? std::optional<TokenId>(7) : std::nullopt;
      });
  FUZZ_CHECK(num_asked <= mark_bytes);
  if (source) {
    FUZZ_CHECK(source->text.starts_with("root ::= ") &&
               source->text.size() <= 8 * mark_bytes + 100 * tags.size() + 100);
  } else {
    FUZZ_CHECK(!source.error().message.empty());
  }
  return 0;
}
