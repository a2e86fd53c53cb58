#include "hub/model_ref.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace octavo::hub {
namespace {

constexpr std::size_t kMaxNameBytes = 96;  // the hub's own limit
constexpr std::size_t kMaxPathBytes = 1024;

/// As the hub has it: letters, digits, "-", "_", ".", neither "--" nor "..", no "-" or "." at either end.
bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  const auto is_end = [](char c) { return c == '-' || c == '.'; };
  return std::ranges::all_of(name, is_letter) && !is_end(name.front()) && !is_end(name.back()) &&
         !name.contains("--") && !name.contains("..");
}

bool is_safe_segment(std::string_view segment) {
  if (segment.empty() || segment == "." || segment == "..") return false;
  return std::ranges::none_of(segment, [](unsigned char c) { return c < 0x20 || c == 0x7F || c == '\\' || c == ':'; });
}

/// Without the hub's host in front, as its pages and ollama's users write names.
std::string_view without_host(std::string_view text) {
  constexpr std::string_view kProtocol = "https://";
  const std::string_view address = text.starts_with(kProtocol) ? text.substr(kProtocol.size()) : text;
  for (const std::string_view host : {"hf.co/", "huggingface.co/"})
    if (address.starts_with(host) && address.substr(host.size()).contains('/')) return address.substr(host.size());
  return text;
}

/// ORG/REPO/resolve/main/PATH or ORG/REPO/blob/main/PATH, as the hub's pages link to files; none: it is another text.
std::optional<ModelRef> parse_file_address(std::string_view text) {
  for (const std::string_view middle : {"/resolve/main/", "/blob/main/"}) {
    const std::size_t at = text.find(middle);
    if (at == std::string_view::npos) continue;
    const std::string_view path = text.substr(at + middle.size());
    auto ref = ModelRef::parse(text.substr(0, at));
    if (!ref || !ref->wanted.empty() || !is_safe_path(path)) return std::nullopt;
    ref->wanted = path.substr(0, path.find('?'));  // "?download=true"
    return ref;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ModelRef> ModelRef::parse(std::string_view text) {
  const std::string_view whole = text;
  text = without_host(text);
  if (text.size() < whole.size())
    if (auto file = parse_file_address(text)) return file;
  const std::size_t colon = text.find(':');
  const std::string_view repo = text.substr(0, colon);
  const std::size_t slash = repo.find('/');
  if (slash == std::string_view::npos || !is_name(repo.substr(0, slash)) || !is_name(repo.substr(slash + 1)))
    return std::nullopt;
  if (colon == std::string_view::npos) return ModelRef{std::string(repo)};
  const std::string_view wanted = text.substr(colon + 1);
  if (!is_safe_path(wanted)) return std::nullopt;
  return ModelRef{std::string(repo), std::string(wanted)};
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes || !is_valid_utf8(path)) return false;
  while (true) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (!is_safe_segment(path.substr(0, slash))) return false;
    if (slash == path.size()) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace octavo::hub
