// The names by which a server may be called. A page of any site can let its own name lead to 127.0.0.1 once it is
// loaded, and then call what listens there as its own site (DNS rebinding). The browser still sends the site's name as
// Host.
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

/// The name in a Host header, or in the authority of a whole URL: without its port, in lower case, and without a dot at
/// its end; an address is normalized and without brackets. None: it is no host.
std::optional<std::string> parse_host(std::string_view text);

class HostList {
 public:
  /// Allows every host.
  HostList() = default;
  /// Allows these names and addresses, which have no port; "*": every host. Error: one is no host.
  static Result<HostList> of(std::span<const std::string> names);

  bool has_all() const { return all_; }
  /// Whether a host is allowed. `host`: as in a request, with or without its port.
  bool allows(std::string_view host) const;

 private:
  bool all_ = true;
  std::set<std::string> names_;
};

/// The name of a request that is not allowed; none if all are. The target may be a whole URL, whose authority is
/// checked as well (RFC 9112, 3.2.2). `host` is none for HTTP/1.0 without that header, which no browser sends.
std::optional<std::string_view> find_wrong_host(const HostList& hosts, std::optional<std::string_view> host,
                                                std::string_view target);

}  // namespace octavo
