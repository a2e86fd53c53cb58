#include "http/origin_check.h"

#include <algorithm>

#include "base/text.h"
#include "http/host_check.h"

namespace octavo {
namespace {

constexpr std::string_view kSchemeEnd = "://";

std::string_view default_port(std::string_view scheme) { return scheme == "https" ? "443" : "80"; }

/// The port after the colon of the last part; empty: there is none.
std::string_view port_of(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos) return {};
  return authority.substr(colon + 1);
}

/// Whether a page of this origin is the server's own, which the browser called by the name `host`. A Host without a
/// port means the scheme's own port, or that a proxy has dropped the port, as many do.
bool is_own(std::string_view origin, std::string_view host) {
  const std::size_t end = origin.find(kSchemeEnd);
  if (end == std::string_view::npos) return false;
  const std::string_view scheme = origin.substr(0, end), authority = origin.substr(end + kSchemeEnd.size());
  if (scheme != "http" && scheme != "https") return false;
  const auto own = parse_host(host), named = parse_host(authority);
  if (!own || own != named) return false;
  const std::string_view own_port = port_of(host), named_port = port_of(authority);
  return own_port.empty() || own_port == (named_port.empty() ? default_port(scheme) : named_port);
}

}  // namespace

bool may_send(const PageFields& fields, std::span<const std::string> allowed) {
  if (fields.origin == "null") return false;
  const auto is_allowed = [&](const std::string& origin) { return origin == "*" || origin == fields.origin; };
  if (!fields.origin.empty() && std::ranges::any_of(allowed, is_allowed)) return true;
  if (fields.site == "cross-site") return false;
  // A proxy that replaces Host leaves the other fields as the browser sent them.
  const bool is_same_origin = fields.site == "same-origin" || fields.has_custom_field;
  return fields.origin.empty() || is_same_origin || is_own(fields.origin, fields.host);
}

Result<void> check_origin(std::string_view text) {
  const std::size_t end = text.find(kSchemeEnd);
  const bool is_origin =
      end != std::string_view::npos && end > 0 && !text.substr(end + kSchemeEnd.size()).contains('/');
  if (text == "*" || is_origin) return {};
  return fail("found {}, expected an origin such as https://page.example, without a path, or *", quote(text));
}

}  // namespace octavo
