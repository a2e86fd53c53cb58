#include "http/fetch_hosts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/ascii.h"
#include "base/text.h"
#include "http/public_address.h"

namespace octavo {
namespace {

constexpr std::string_view kPublic = "public";
constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kMaxName = 253;

/// A name in the form for comparing: in lower case, without the dot that may end it.
std::string plain_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  return lower_case(name);
}

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  };
  return !name.empty() && name.size() <= kMaxName && static_cast<unsigned char>(name.front()) < 0x80 &&
         name.front() != '.' && std::ranges::all_of(name, fits);
}

struct HostPort {
  std::string_view host;
  std::uint16_t port = 0;  // 0: none is named
};

/// Splits "host", "host:80", "[::1]" or "[::1]:80". Nothing: it has another form.
std::optional<HostPort> split(std::string_view entry) {
  HostPort parts{.host = entry};
  std::string_view rest;
  if (entry.starts_with('[')) {
    const std::size_t end = entry.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    parts.host = entry.substr(1, end - 1);
    rest = entry.substr(end + 1);
  } else if (const std::size_t colon = entry.find(':'); colon != std::string_view::npos) {
    parts.host = entry.substr(0, colon);
    rest = entry.substr(colon);
  }
  if (rest.empty()) return parts;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), parts.port);
  if (rest.front() != ':' || error != std::errc() || end != rest.data() + rest.size() || parts.port == 0)
    return std::nullopt;
  return parts;
}

}  // namespace

Result<FetchHosts> FetchHosts::parse(std::string_view list) {
  FetchHosts hosts;
  while (true) {
    const std::size_t comma = list.find(',');
    OCTAVO_TRY_VOID(hosts.add(trimmed(list.substr(0, comma), kBlanks)));
    if (comma == std::string_view::npos) return hosts;
    list.remove_prefix(comma + 1);
  }
}

Result<void> FetchHosts::add(std::string_view entry) {
  if (entry == kPublic) {
    is_public_ = true;
    return {};
  }
  if (parse_address(entry) || entry.find('/') != std::string_view::npos) {
    OCTAVO_TRY(const Network network, Network::parse(entry));
    ranges_.push_back({.network = network, .port = 0});
    return {};
  }
  const auto parts = split(entry);
  if (parts && parse_address(parts->host)) {
    OCTAVO_TRY(const Network network, Network::parse(parts->host));
    ranges_.push_back({.network = network, .port = parts->port});
    return {};
  }
  if (!parts || entry.starts_with('[') || !is_name(parts->host))
    return fail(
        "found {}, expected public, a host such as example.com or example.com:8443, an address, or a network such "
        "as 10.0.0.0/8",
        quote(entry));
  names_.push_back({.host = plain_name(parts->host), .port = parts->port});
  return {};
}

bool FetchHosts::has_address(const Address& address, std::uint16_t port) const {
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    return (range.port == 0 || range.port == port) && range.network.contains(address);
  });
}

bool FetchHosts::allows_host(std::string_view host, std::uint16_t port) const {
  if (is_public_) return true;
  if (const auto address = parse_address(host)) return has_address(*address, port);
  const std::string name = plain_name(host);
  return std::ranges::any_of(
      names_, [&](const Name& named) { return named.host == name && (named.port == 0 || named.port == port); });
}

bool FetchHosts::allows_address(const Address& address, std::uint16_t port) const {
  const Address plain = normalized(address);
  return is_public(plain) || has_address(plain, port);
}

}  // namespace octavo
