// By which names a server answers. A page of any site can have its own name point to 127.0.0.1 once it is loaded, and
// then call whatever listens there as its own site (DNS rebinding). The browser still sends the site's name as Host.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo {

/// The name in a Host header, or in the authority of a whole URL. It is without its port, in lower case, without a dot
/// at its end; an address is in its one form, without brackets. None where that is no host.
std::optional<std::string> parse_host(std::string_view text);

class HostList {
 public:
  /// Every host.
  HostList() = default;
  /// These names and addresses, which have no port; "*": every host. Error: it is no host.
  static Result<HostList> of(std::span<const std::string> names);

  bool has_all() const { return all_; }
  /// `host` as a request has it, with its port or without.
  bool allows(std::string_view host) const;

 private:
  bool all_ = true;
  std::set<std::string> names_;
};

/// For a request whose target may be a whole URL, whose authority then counts as well (RFC 9112, 3.2.2). The name that
/// is not allowed; none if all are. `host` is none for HTTP/1.0 without that header, which no browser sends.
std::optional<std::string_view> find_wrong_host(const HostList& hosts, std::optional<std::string_view> host,
                                                std::string_view target);

}  // namespace octavo
