#include "api/call/picture_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <limits>
#include <utility>

#include "api/call/api_field.h"
#include "api/call/completion.h"
#include "base/ascii.h"
#include "base/error.h"
#include "tokenizer/json/base64.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr int kLowTokens = 256;  // the most tokens of a picture with `detail` low
constexpr std::string_view kExpected = "a data URL (\"data:image/png;base64,...\") or base64";
constexpr std::string_view kInvalid = "invalid_image", kTooLarge = "image_too_large";
constexpr std::string_view kNotThere = "invalid_image_url";  // OpenAI's code
constexpr std::string_view kDetails[] = {"", "auto", "low", "high", "original"};

constexpr std::size_t kMaxScheme = 16;  // the most bytes of an address up to its first colon

/// Whether `text` begins with `scheme`, whatever the case of the letters.
bool begins_with(std::string_view text, std::string_view scheme) {
  return std::ranges::equal(text.substr(0, scheme.size()), scheme,
                            [](char c, char wanted) { return lower(c) == wanted; });
}

/// The base64 in a data URL, or a text that is no URL, which counts as base64. Nothing: a data URL of another form.
std::optional<std::string_view> base64_of(std::string_view data) {
  if (!begins_with(data, "data:")) return data;
  constexpr std::string_view kEncoding = ";base64";
  const std::size_t comma = data.find(',');
  if (comma == std::string_view::npos || comma < kEncoding.size()) return std::nullopt;
  if (!begins_with(data.substr(comma - kEncoding.size(), kEncoding.size()), kEncoding)) return std::nullopt;
  return data.substr(comma + 1);
}

/// The bytes of base64, which may have white space in it and lack padding, as some clients send it.
std::optional<std::string> decode_loosely(std::string_view base64) {
  base64 = without_trailing(base64);
  if (base64.empty()) return std::nullopt;
  if (base64.size() % 4 == 0 && std::ranges::none_of(base64, is_white_space)) return decode_base64(base64);
  std::string plain;
  plain.reserve(base64.size() + 3);
  std::ranges::copy_if(base64, std::back_inserter(plain), [](char c) { return !is_white_space(c); });
  while (plain.size() % 4 != 0) plain += '=';
  return decode_base64(plain);
}

/// The beginning of an address, as a message shows it.
std::string shown_address(std::string_view address) {
  constexpr std::size_t kShown = 64;
  return address.size() <= kShown ? std::string(address) : std::string(address.substr(0, kShown)) + "...";
}

JsonError wrong(const std::string& place, std::string_view found, std::string_view expected, std::string_view code) {
  return {.path = place, .message = fmt::format("{}: found {}, expected {}", place, found, expected), .code = code};
}

/// The server options that let pictures be fetched, by schemes of addresses.
constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
    {"http:", ", but from hosts of --image-urls"},
    {"https:", ", but from hosts of --image-urls"},
    {"file:", ", but from the folder of --media-path"},
};

/// The error of a picture at a place that this server does not fetch pictures from.
JsonError not_fetched(const std::string& place, std::string_view what, std::string_view option = {}) {
  return wrong(place, what, fmt::format("{}: this server fetches no pictures{}", kExpected, option),
               "unsupported_parameter");
}

/// The error of a picture at an address.
JsonError error_of_address(const std::string& place, std::string_view address, const UnfetchedPictures* unfetched) {
  if (unfetched != nullptr)
    if (const auto found = unfetched->find(address); found != unfetched->end()) {
      const Error& error = found->second;
      const std::string_view code = error.kind == ErrorKind::kInvalidPicture    ? kInvalid
                                    : error.kind == ErrorKind::kPictureTooLarge ? kTooLarge
                                                                                : kNotThere;
      return {.path = place, .message = fmt::format("{}: {}", place, error.message), .code = code};
    }
  const auto* const row =
      std::ranges::find_if(kOptions, [address](const auto& option) { return begins_with(address, option.first); });
  return not_fetched(place, fmt::format("the address '{}'", shown_address(address)),
                     row == std::end(kOptions) ? std::string_view() : row->second);
}

/// The member of a part that has its picture.
struct Place {
  JsonCursor at;
  std::string name;  // the name in errors
  bool is_file_id = false;
};

/// The place in a block of Anthropic's API, whose errors have the block's type in the place (history_parts.cc).
Place place_in_source(const JsonCursor& part) {
  const json::string* type = part["source"]["type"].if_string();
  const bool is_url = type != nullptr && *type == "url", is_file = type != nullptr && *type == "file";
  const std::string_view name = is_url ? "url" : is_file ? "file_id" : "data";
  return {
      .at = part["source"][name], .name = fmt::format("{}.image.source.{}", part.path(), name), .is_file_id = is_file};
}

Place place_of(const JsonCursor& part) {
  if (part["source"].if_object() != nullptr) return place_in_source(part);
  for (const std::string_view name : {"image_url", "image", "source"}) {
    const JsonCursor given = part[name];
    if (!given.is_given()) continue;
    const JsonCursor at = given.if_object() == nullptr ? given : given["url"];
    return {.at = at, .name = at.path()};
  }
  const bool is_file = part["file_id"].is_given();
  const JsonCursor at = part[is_file ? "file_id" : "image_url"];
  return {.at = at, .name = at.path(), .is_file_id = is_file};
}

}  // namespace

ApiResult<PictureReader> PictureReader::create(const JsonCursor& body, const ApiContext& context) {
  const VisionInfo& vision = context.words.info().vision;
  PictureReader reader;
  if (!vision.sees()) return reader;
  reader.vision_ = vision;
  reader.bounds_ = context.model.policy.picture_bounds;
  reader.unfetched_ = context.unfetched;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  const JsonCursor least = body["image_min_tokens"], most = body["image_max_tokens"];
  OCTAVO_TRY(const auto min, to_api_result(least.integer(1, kMost)));
  OCTAVO_TRY(const auto max, to_api_result(most.integer(1, kMost)));
  if (min && max && *max < *min)
    return refused(most.error(fmt::format("found {}, expected at least image_min_tokens, {}", *max, *min)));
  reader.min_tokens_ = static_cast<int>(std::min<std::int64_t>(min.value_or(0), vision.most_tokens));
  reader.max_tokens_ = static_cast<int>(std::min<std::int64_t>(max.value_or(0), vision.most_tokens));
  return reader;
}

ApiResult<std::optional<FoundPicture>> PictureReader::find(const JsonCursor& part, bool is_newest) {
  const Place place = place_of(part);
  const json::string* text = place.at.if_string();
  if (text == nullptr && !is_newest) return std::nullopt;
  if (text == nullptr)
    return refused(wrong(place.name, place.at.is_given() ? describe_json(*place.at.value()) : "none", kExpected,
                         place.at.is_given() ? "invalid_type" : kInvalid));
  const std::string_view data = *text;
  std::optional<JsonError> elsewhere;
  if (place.is_file_id) {
    elsewhere = not_fetched(place.name, "the name of a file");
  } else if (!begins_with(data, "data:") && data.substr(0, kMaxScheme).contains(':')) {
    elsewhere = error_of_address(place.name, data, unfetched_);
  }
  if (elsewhere && is_newest) return refused(std::move(*elsewhere));
  if (elsewhere) {
    if (num_missing_++ == 0) first_missing_ = std::move(elsewhere->message);
    return std::nullopt;
  }
  const JsonCursor of_url = part["image_url"];
  const JsonCursor given =
      of_url.if_object() != nullptr && of_url["detail"].is_given() ? of_url["detail"] : part["detail"];
  const json::string* detail = given.if_string();
  const std::string_view asked = detail == nullptr ? std::string_view() : std::string_view(*detail);
  const bool is_known = std::ranges::find(kDetails, asked) != std::end(kDetails);
  if (is_newest && (!is_known || (detail == nullptr && given.is_given())))
    return refused(given.wrong_value("auto, low or high"));
  return FoundPicture{.data = data, .place = place.name, .detail = asked};
}

ApiResult<ContentPart> PictureReader::decode(const FoundPicture& found) {
  if (++num_pictures_ > bounds_.pictures)
    return refused(wrong(found.place, fmt::format("picture {} of the request", num_pictures_),
                         fmt::format("at most {}", bounds_.pictures), kTooLarge));
  const auto base64 = base64_of(found.data);
  if (!base64) return refused(wrong(found.place, "a data URL without ;base64", kExpected, kInvalid));
  if (base64->size() / 4 > bounds_.bytes / 3 + 1)
    return refused(wrong(found.place, fmt::format("a picture of about {} bytes", base64->size() / 4 * 3),
                         fmt::format("at most {}", bounds_.bytes), kTooLarge));
  auto bytes = decode_loosely(*base64);
  if (!bytes)
    return refused(wrong(found.place, base64->empty() ? "nothing" : "a text that is no base64", kExpected, kInvalid));
  PictureInput picture{.bytes = std::make_shared<const std::string>(std::move(*bytes)),
                       .place = found.place,
                       .min_tokens = min_tokens_,
                       .max_tokens = max_tokens(found.detail)};
  return ContentPart{.kind = ContentPart::Kind::kPicture, .picture = std::move(picture)};
}

std::optional<std::string> PictureReader::warning() const {
  if (num_missing_ == 0) return std::nullopt;
  std::string text = first_missing_ + ": the model is told of an image that it cannot see";
  if (num_missing_ > 1) text += fmt::format("; there are {} such pictures", num_missing_);
  return text;
}

int PictureReader::max_tokens(std::string_view detail) const {
  if (max_tokens_ > 0) return max_tokens_;
  if (detail == "low") return std::max(min_tokens_, std::min(kLowTokens, vision_.most_tokens));
  const int own = detail == "high" || detail == "original" ? vision_.most_tokens : 0;
  return own == 0 && min_tokens_ > vision_.max_tokens ? min_tokens_ : own;
}

}  // namespace octavo
