#include "http/host_check.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/ascii.h"
#include "http/address.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxName = 253;

bool is_name(std::string_view text) {
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; };
  return !text.empty() && text.size() <= kMaxName && std::ranges::all_of(text, fits);
}

/// Whether the rest after a name is empty, or a colon and a port, which may be empty (RFC 3986, 3.2.3).
bool is_port(std::string_view text) {
  if (text.empty() || text == ":") return true;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), port);
  return text.front() == ':' && error == std::errc() && end == text.data() + text.size();
}

std::optional<std::string> canonical_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (!is_name(name)) return std::nullopt;
  if (const auto address = parse_address(name)) return address->to_string();
  std::string out(name);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

}  // namespace

std::optional<std::string> parse_host(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || !is_port(text.substr(end + 1))) return std::nullopt;
    const std::string_view inner = text.substr(1, end - 1);
    const auto address = parse_address(inner);
    if (!address || inner.find(':') == std::string_view::npos) return std::nullopt;
    return address->to_string();
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  if (!is_port(text.substr(colon))) return std::nullopt;
  return canonical_name(text.substr(0, colon));
}

Result<HostList> HostList::of(std::span<const std::string> names) {
  HostList list;
  list.all_ = false;
  for (const std::string& text : names) {
    if (text == "*") {
      list.all_ = true;
      continue;
    }
    // An IPv6 address may stand without brackets here, as no port follows it.
    const auto address = parse_address(text);
    const bool has_port = !address && (text.starts_with('[') ? !text.ends_with(']') : text.find(':') != text.npos);
    const auto name = address ? address->to_string() : has_port ? std::nullopt : parse_host(text);
    if (!name) return fail("found '{}', expected the name or the address of a host, without a port, or *", text);
    list.names_.insert(*name);
  }
  return list;
}

bool HostList::allows(std::string_view host) const {
  if (all_) return true;
  const auto name = parse_host(host);
  return name && names_.contains(*name);
}

std::optional<std::string_view> find_wrong_host(const HostList& hosts, std::optional<std::string_view> host,
                                                std::string_view target) {
  if (host && !hosts.allows(*host)) return host;
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return std::nullopt;
  const std::string_view rest = target.substr(scheme + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (!hosts.allows(authority)) return authority;
  return std::nullopt;
}

}  // namespace octavo
