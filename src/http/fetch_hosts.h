// The hosts that a server fetches from because a client has named an address of them. A host has to be allowed by its
// name, and each address that the name leads to by itself: names lead where those say who own them, and elsewhere the
// next time.
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
  /// Entries between commas: "public", which is every host; "example.com" or "example.com:8443"; an address,
  /// "10.0.0.7", "10.0.0.7:8000" or "[fd00::7]:8000"; a network, "10.0.0.0/8". Without a port, each port. Error: an
  /// entry is none of these, or there is none.
  static Result<FetchHosts> parse(std::string_view list);

  /// Whether an address of the web may name this host. `host`: as in the address, without brackets.
  bool allows_host(std::string_view host, std::uint16_t port) const;
  /// Whether the host may lead there: the address is public, or is one that the list has.
  bool allows_address(const Address& address, std::uint16_t port) const;

 private:
  struct Name {
    std::string host;
    std::uint16_t port;  // 0: each one
  };
  struct Range {
    Network network;
    std::uint16_t port;  // 0: each one
  };

  Result<void> add(std::string_view entry);
  bool has_address(const Address& address, std::uint16_t port) const;

  bool is_public_ = false;
  std::vector<Name> names_;
  std::vector<Range> ranges_;
};

}  // namespace octavo
