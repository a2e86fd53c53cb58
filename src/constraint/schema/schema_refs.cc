#include "constraint/schema/schema_refs.h"

#include <algorithm>
#include <vector>

#include "base/hex.h"

namespace octavo {
namespace {

constexpr std::uint64_t kStepsOfByte = 8;  // for a resolved "$id" that is kept: a long one may be the base of many

struct Uri {
  std::string_view scheme, authority, path, query;
  bool has_authority = false;
};

Uri split_uri(std::string_view text) {
  Uri uri;
  const std::size_t colon = text.find_first_of(":/?");
  if (colon != std::string_view::npos && colon > 0 && text[colon] == ':') {
    uri.scheme = text.substr(0, colon + 1);
    text.remove_prefix(colon + 1);
  }
  if (text.starts_with("//")) {
    const std::size_t end = std::min(text.find_first_of("/?", 2), text.size());
    uri.authority = text.substr(0, end);
    uri.has_authority = true;
    text.remove_prefix(end);
  }
  const std::size_t query = std::min(text.find('?'), text.size());
  uri.path = text.substr(0, query);
  uri.query = text.substr(query);
  return uri;
}

std::string without_dots(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool is_absolute = path.starts_with('/');
  bool ends_in_folder = false;
  for (std::size_t begin = is_absolute ? 1 : 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    ends_in_folder = part == "." || part == "..";
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!ends_in_folder) parts.push_back(part);
    begin = end + 1;
  }
  if (ends_in_folder) parts.emplace_back();
  std::string joined = is_absolute ? "/" : "";
  for (std::size_t i = 0; i < parts.size(); ++i) joined.append(i == 0 ? "" : "/").append(parts[i]);
  return joined;
}

std::pair<std::string_view, std::string_view> split_fragment(std::string_view reference) {
  const std::size_t hash = reference.find('#');
  if (hash == std::string_view::npos) return {reference, {}};
  return {reference.substr(0, hash), reference.substr(hash + 1)};
}

}  // namespace

std::string resolved_uri(std::string_view base, std::string_view reference) {
  const Uri to = split_uri(reference), from = split_uri(base);
  std::string uri;
  const auto append = [&](const auto&... parts) { (uri.append(parts), ...); };
  if (!to.scheme.empty()) {
    append(to.scheme, to.authority, to.path, to.query);
  } else if (to.has_authority) {
    append(from.scheme, to.authority, without_dots(to.path), to.query);
  } else if (to.path.empty()) {
    append(from.scheme, from.authority, from.path, to.query.empty() ? from.query : to.query);
  } else {
    std::string path(to.path);
    if (!to.path.starts_with('/')) {
      const std::size_t folder = from.path.rfind('/');
      const std::string_view parent = from.path.substr(0, folder == std::string_view::npos ? 0 : folder + 1);
      path = (from.has_authority && from.path.empty() ? "/" : std::string(parent)) + path;
    }
    append(from.scheme, from.authority, without_dots(path), to.query);
  }
  return uri;
}

SchemaRefs::SchemaRefs(const JsonTree& tree, CompileWork& work) : tree_(tree), work_(work) {
  uris_[JsonTree::kRoot] = "";
  resources_.emplace("", JsonTree::kRoot);
  // A parent has a lower number than its children.
  for (JsonTree::NodeId node = 0; node < tree.size() && work.add(); ++node) add_names(node);
}

void SchemaRefs::add_names(JsonTree::NodeId node) {
  const auto text_of = [&](std::string_view key) -> std::optional<std::string_view> {
    const auto member = tree_.find(node, key);
    if (!member || !tree_.is(*member, JsonTree::Kind::kString)) return std::nullopt;
    return tree_.at(*member).text;
  };
  auto id = text_of("$id");
  if (!id && node == JsonTree::kRoot) id = text_of("id");  // draft 4 writes it so
  if (id) {
    const auto [reference, fragment] = split_fragment(*id);
    const JsonTree::NodeId outer = resource_of(node);
    if (!reference.empty()) {
      std::string uri = resolved_uri(uris_.at(outer), reference);
      work_.add(uri.size() * kStepsOfByte);
      resources_.emplace(uri, node);
      uris_[node] = std::move(uri);
    }
    if (!fragment.empty()) anchors_.emplace(std::pair(resource_of(node), std::string(fragment)), node);
  }
  for (const std::string_view key : {"$anchor", "$dynamicAnchor"})
    if (const auto name = text_of(key)) anchors_.emplace(std::pair(resource_of(node), std::string(*name)), node);
  if (const auto name = text_of("$dynamicAnchor")) ++num_dynamic_[std::string(*name)];
}

JsonTree::NodeId SchemaRefs::resource_of(JsonTree::NodeId node) const {
  while (!uris_.contains(node)) node = tree_.at(node).parent;
  return node;
}

std::optional<JsonTree::NodeId> SchemaRefs::find_fragment(JsonTree::NodeId resource, std::string_view fragment) const {
  const std::string decoded = percent_decoded(fragment);
  if (decoded.empty() || decoded.starts_with('/')) {
    const auto found = tree_.follow(resource, decoded);
    return found || resource == JsonTree::kRoot ? found : tree_.follow(JsonTree::kRoot, decoded);
  }
  const auto anchor = anchors_.find({resource, decoded});
  if (anchor == anchors_.end()) return std::nullopt;
  return anchor->second;
}

std::optional<JsonTree::NodeId> SchemaRefs::resolve(JsonTree::NodeId from, std::string_view reference) const {
  const auto [uri, fragment] = split_fragment(reference);
  const JsonTree::NodeId base = resource_of(from);
  if (uri.empty()) return find_fragment(base, fragment);
  work_.add(uris_.at(base).size() + uri.size());
  const auto resource = resources_.find(resolved_uri(uris_.at(base), uri));
  if (resource == resources_.end()) return std::nullopt;
  return find_fragment(resource->second, fragment);
}

std::optional<JsonTree::NodeId> SchemaRefs::resolve_dynamic(JsonTree::NodeId from, std::string_view reference) const {
  const auto known = num_dynamic_.find(split_fragment(reference).second);
  if (known != num_dynamic_.end() && known->second > 1) return std::nullopt;
  return resolve(from, reference);
}

}  // namespace octavo
