#include "api/call/picture_text.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/call/history_parts.h"
#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kPictures = "an array of pictures";
constexpr std::string_view kNumberBegin = "[img-";

ApiResult<void> check_sees(const JsonCursor& given, const PictureReader& pictures) {
  if (pictures.sees()) return {};
  return refused(
      given.error("found pictures, expected a text: the model reads texts alone; a model that sees does so "
                  "with --mmproj FILE",
                  "unsupported_parameter"));
}

void add_text(std::string_view text, PictureText& read) {
  if (!text.empty()) read.parts.push_back({.text = std::string(text)});
}

std::size_t count_marks(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(kMediaMarker); at != std::string_view::npos;
       at = text.find(kMediaMarker, at + kMediaMarker.size()))
    ++count;
  return count;
}

/// The picture whose base64 is at `given`.
ApiResult<ContentPart> read_data(const JsonCursor& given, PictureReader& pictures) {
  OCTAVO_TRY(const std::string_view data, to_api_result(given.needed_string("a picture in base64 (a string)")));
  return pictures.decode({.data = data, .place = given.path()});
}

/// Where the next "[img-ID]" at or after `from` begins and ends in a text, and its ID.
struct NumberMark {
  std::size_t begin = 0, end = 0;
  std::int64_t id = 0;
};
std::optional<NumberMark> next_mark(std::string_view text, std::size_t from) {
  for (std::size_t begin = text.find(kNumberBegin, from); begin != std::string_view::npos;
       begin = text.find(kNumberBegin, begin + 1)) {
    const std::string_view rest = text.substr(begin + kNumberBegin.size());
    std::int64_t id = 0;
    const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), id);
    const auto digits = to_size(end - rest.data());
    if (failed == std::errc() && digits < rest.size() && rest[digits] == ']')
      return NumberMark{.begin = begin, .end = begin + kNumberBegin.size() + digits + 1, .id = id};
  }
  return std::nullopt;
}

ApiResult<PictureText> read_parts(const JsonCursor& content, PictureReader& pictures) {
  OCTAVO_TRY(const json::array* list, to_api_result(content.needed_array("an array of parts")));
  HistoryReader reader(std::move(pictures));
  ChatMessage message;
  for (std::size_t i = 0; i < list->size(); ++i) {
    OCTAVO_TRY_VOID(to_api_result(content[i].needed_object("a part (an object)")));
    OCTAVO_TRY(ReadPart part, reader.read_part(content[i], true));
    OCTAVO_TRY_VOID(reader.add(std::move(part), message));
  }
  pictures = std::move(reader.pictures());
  return PictureText{.parts = std::move(message.parts)};
}

struct NumberedPicture {
  ContentPart part;
  bool is_used = false;
};
using NumberedPictures = std::map<std::int64_t, NumberedPicture>;

ApiResult<NumberedPictures> read_list(const JsonCursor& images, PictureReader& pictures) {
  OCTAVO_TRY(const json::array* list, to_api_result(images.array(kPictures)));
  NumberedPictures numbered;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const JsonCursor image = images[i];
    OCTAVO_TRY_VOID(to_api_result(image.needed_object("a picture (an object)")));
    OCTAVO_TRY(const std::int64_t id,
               to_api_result(image["id"].needed_integer(0, std::numeric_limits<std::int64_t>::max())));
    if (numbered.contains(id))
      return refused(image["id"].error(fmt::format("found {} a second time, expected a number of its own", id)));
    OCTAVO_TRY(numbered[id].part, read_data(image["data"], pictures));
  }
  return numbered;
}

}  // namespace

ApiResult<PictureText> read_picture_text(const JsonCursor& given, PictureReader& pictures) {
  if (given["content"].is_given()) return read_parts(given["content"], pictures);
  const JsonCursor text_at = given["prompt_string"], data_at = given["multimodal_data"];
  OCTAVO_TRY(std::string_view text, to_api_result(text_at.needed_string()));
  OCTAVO_TRY(const json::array* list, to_api_result(data_at.array(kPictures)));
  const std::size_t count = list == nullptr ? 0 : list->size();
  if (count > 0) OCTAVO_TRY_VOID(check_sees(data_at, pictures));
  const std::size_t found = count == 0 ? 0 : count_marks(text);
  if (found != count)
    return refused(text_at.error(
        fmt::format("found {} of {}, expected {}: one for each of multimodal_data", found, kMediaMarker, count)));
  PictureText read;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t mark = text.find(kMediaMarker);
    add_text(text.substr(0, mark), read);
    text.remove_prefix(mark + kMediaMarker.size());
    OCTAVO_TRY(read.parts.emplace_back(), read_data(data_at[i], pictures));
  }
  add_text(text, read);
  return read;
}

ApiResult<PictureText> read_numbered_pictures(std::string_view text, const JsonCursor& images,
                                              PictureReader& pictures) {
  OCTAVO_TRY_VOID(check_sees(images, pictures));
  OCTAVO_TRY(NumberedPictures numbered, read_list(images, pictures));
  PictureText read;
  std::size_t begin = 0;
  int num_places = 0;
  for (auto mark = next_mark(text, 0); mark; mark = next_mark(text, begin)) {
    const auto picture = numbered.find(mark->id);
    if (picture == numbered.end())
      return refused(images.error(
          fmt::format("found no picture with the id {}, which the prompt has as [img-{}]", mark->id, mark->id)));
    if (++num_places > pictures.most_pictures())
      return refused(
          images.error(fmt::format("found more than {} places of pictures in the prompt, the most of a request",
                                   pictures.most_pictures()),
                       "image_too_large"));
    add_text(text.substr(begin, mark->begin - begin), read);
    read.parts.push_back(picture->second.part);
    picture->second.is_used = true;
    begin = mark->end;
  }
  add_text(text.substr(begin), read);
  for (const auto& [id, picture] : numbered)
    if (!picture.is_used)
      return refused(
          images.error(fmt::format("found a picture with the id {}, expected [img-{}] in the prompt", id, id)));
  return read;
}

}  // namespace octavo
