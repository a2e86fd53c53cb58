#include "hub/listing.h"

#include <algorithm>
#include <optional>

#include "hub/digest.h"
#include "hub/model_ref.h"
#include "json/json_cursor.h"
#include "json/json_document.h"

namespace octavo::hub {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxMemoryBytes = std::size_t{256} << 20;  // ten values a file take 48 MiB where there are 65536

// A mistake in one file leaves that file out, so that these look at values alone: to name the place of each would take
// the square of the list's length.
std::string_view text_of(const JsonCursor& given) {
  const json::string* text = given.if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

std::optional<std::string> hash_of(const JsonCursor& given) { return hash_of_etag(text_of(given)); }

/// None: it is no size of a file.
std::optional<std::uint64_t> size_of(const JsonCursor& given) {
  const auto size = given.is_given() ? as_integer(*given.value()) : std::nullopt;
  if (!size || *size < 0 || static_cast<std::uint64_t>(*size) > ListingLimits::kFileBytes) return std::nullopt;
  return static_cast<std::uint64_t>(*size);
}

/// None: it lacks something, or its name is no path inside a folder.
std::optional<RepoFile> file_of(const JsonCursor& file) {
  const std::string_view path = text_of(file["rfilename"]);
  if (!is_safe_path(path)) return std::nullopt;
  // A large file's hash is that of its bytes; blobId is that of the pointer to it.
  const JsonCursor lfs = file["lfs"];
  const bool is_large = lfs.if_object() != nullptr;
  const auto size = size_of(is_large ? lfs["size"] : file["size"]);
  const auto hash = hash_of(is_large ? lfs["sha256"] : file["blobId"]);
  if (!size || !hash) return std::nullopt;
  return RepoFile{std::string(path), *size, *hash};
}

}  // namespace

Result<Listing> parse_listing(std::string_view text) {
  const auto object = parse_json_object(
      text,
      {.max_bytes = ListingLimits::kBytes, .max_values = ListingLimits::kValues, .max_memory_bytes = kMaxMemoryBytes});
  if (!object) return fail("the hub's list of files: {}", object.error().message);
  const JsonCursor body(*object);
  const auto commit = hash_of(body["sha"]);
  if (!commit) return fail("the hub's list of files has no commit ('sha'), expected 40 hexadecimal digits");
  const JsonCursor siblings = body["siblings"];
  const json::array* given = siblings.if_array();
  if (given == nullptr) return fail("the hub's list of files has no 'siblings', expected an array of files");
  if (given->size() > ListingLimits::kFiles)
    return fail("the hub's list has {} files, expected at most {}", given->size(), ListingLimits::kFiles);
  Listing listing{.commit = *commit, .files = {}};
  for (std::size_t i = 0; i < given->size(); ++i) {
    const auto file = siblings[i].needed_object("a file (an object)");
    if (!file) return fail("the hub's list of files: {}", file.error().message);
    if (auto known = file_of(siblings[i])) listing.files.push_back(std::move(*known));
  }
  return listing;
}

}  // namespace octavo::hub
