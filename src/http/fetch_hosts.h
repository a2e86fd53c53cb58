// The hosts that a server may fetch from where a client has named an address there. A host must be allowed by its name,
// and each address to which the name leads must be allowed by itself: the owner of a name decides where it leads, and
// may change that at any time.
//
// A value; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/address.h"

namespace octavo {

class FetchHosts {
 public:
  /// Reads entries with commas between them: "public", which is any public host; "example.com" or "example.com:8443";
  /// an address, "10.0.0.7", "10.0.0.7:8000" or "[fd00::7]:8000"; a network, "10.0.0.0/8". Without a port, all ports
  /// are allowed. Error: an entry is none of these, or there is none.
  static Result<FetchHosts> parse(std::string_view list);

  /// Whether a URL may name this host. `host`: as in the URL, without brackets.
  bool allows_host(std::string_view host, std::uint16_t port) const;
  /// Whether a host may lead to this address: it is public, or in the list.
  bool allows_address(const Address& address, std::uint16_t port) const;

 private:
  struct Name {
    std::string host;
    std::uint16_t port;  // 0: any
  };
  struct Range {
    Network network;
    std::uint16_t port;  // 0: any
  };

  Result<void> add(std::string_view entry);
  bool has_address(const Address& address, std::uint16_t port) const;

  bool is_public_ = false;
  std::vector<Name> names_;
  std::vector<Range> ranges_;
};

}  // namespace octavo
