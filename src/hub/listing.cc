#include "hub/listing.h"

#include <algorithm>
#include <optional>

#include "hub/digest.h"
#include "hub/model_ref.h"
#include "json/json_text.h"
#include "octavo/chat.h"

namespace octavo::hub {
namespace {

const TemplateValue* find(const TemplateDict& object, std::string_view name) {
  const auto found = std::ranges::find(object, name, [](const auto& member) { return std::string_view(member.first); });
  return found == object.end() ? nullptr : &found->second;
}

template <class T>
const T* find_as(const TemplateDict& object, std::string_view name) {
  const TemplateValue* value = find(object, name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

std::optional<std::string> hash_of(const TemplateDict& object, std::string_view name) {
  const auto* text = find_as<std::string>(object, name);
  return text == nullptr ? std::nullopt : hash_of_etag(*text);
}

/// The size that an object gives; none where it is no size of a file.
std::optional<std::uint64_t> size_of(const TemplateDict& object) {
  const auto* size = find_as<std::int64_t>(object, "size");
  if (size == nullptr || *size < 0 || static_cast<std::uint64_t>(*size) > ListingLimits::kFileBytes)
    return std::nullopt;
  return static_cast<std::uint64_t>(*size);
}

/// None: it lacks something, or its name is no path inside a folder.
std::optional<RepoFile> file_of(const TemplateDict& object) {
  const auto* path = find_as<std::string>(object, "rfilename");
  if (path == nullptr || !is_safe_path(*path)) return std::nullopt;
  // A large file's hash is that of its bytes; blobId is that of the pointer to it.
  const auto* lfs = find_as<TemplateDict>(object, "lfs");
  const TemplateDict& sized = lfs == nullptr ? object : *lfs;
  const auto size = size_of(sized);
  const auto hash = lfs == nullptr ? hash_of(object, "blobId") : hash_of(*lfs, "sha256");
  if (!size || !hash) return std::nullopt;
  return RepoFile{*path, *size, *hash};
}

}  // namespace

Result<Listing> parse_listing(std::string_view text) {
  if (text.size() > ListingLimits::kBytes)
    return fail("the hub's list of files has more than {} bytes", ListingLimits::kBytes);
  std::size_t values_left = ListingLimits::kValues;
  const auto json = read_json_object(text, values_left);
  if (!json) return fail("the hub's list of files: {}", json.error().message);
  const auto& object = std::get<TemplateDict>(*json);
  const auto commit = hash_of(object, "sha");
  if (!commit) return fail("the hub's list of files has no commit ('sha'), expected 40 hexadecimal digits");
  const auto* siblings = find_as<TemplateList>(object, "siblings");
  if (siblings == nullptr) return fail("the hub's list of files has no 'siblings', expected an array of files");
  if (siblings->size() > ListingLimits::kFiles)
    return fail("the hub's list has {} files, expected at most {}", siblings->size(), ListingLimits::kFiles);
  Listing listing{.commit = *commit, .files = {}};
  for (const TemplateValue& sibling : *siblings) {
    const auto* file = std::get_if<TemplateDict>(&sibling);
    if (file == nullptr) return fail("the hub's list of files has one that is no object");
    if (auto known = file_of(*file)) listing.files.push_back(std::move(*known));
  }
  return listing;
}

}  // namespace octavo::hub
