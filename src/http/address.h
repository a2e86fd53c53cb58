// Addresses of clients, and networks of them. Pure; any thread.
#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo {

using Address = boost::asio::ip::address;

/// One form for each address, so that equal ones compare equal: an IPv4 address within IPv6 (::ffff:203.0.113.7) is
/// IPv4, and an IPv6 address has no zone.
Address normalized(const Address& address);

/// "203.0.113.7" or "2001:db8::1", without brackets, port or zone; normalized.
std::optional<Address> parse_address(std::string_view text);

/// One client, for counting: an IPv4 address, or the 64 leading bits of an IPv6 address. A host takes as many addresses
/// within these bits as it likes. "203.0.113.7", "2001:db8:1:2::/64".
std::string client_group(const Address& address);
/// The client as a key that needs no memory: IPv4 within IPv6.
std::array<unsigned char, 16> client_key(const Address& address);

/// "10.0.0.0/8", "fd00::/8", or one address.
class Network {
 public:
  /// Error: no network, or one with bits set behind its prefix.
  static Result<Network> parse(std::string_view text);

  /// `address` is normalized.
  bool contains(const Address& address) const;

 private:
  using Bytes = std::array<unsigned char, 16>;

  bool is_v4_ = false;
  int prefix_bits_ = 0;
  Bytes bytes_ = {};  // of IPv4 the first four
};

}  // namespace octavo
