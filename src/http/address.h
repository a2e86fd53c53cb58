// Addresses of clients, and networks. Pure; any thread.
#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo {

using Address = boost::asio::ip::address;

/// The one form of an address, so that equal addresses compare equal: an IPv4 address within IPv6 (::ffff:203.0.113.7)
/// becomes IPv4, and an IPv6 address loses its zone.
Address normalized(const Address& address);

/// Reads "203.0.113.7" or "2001:db8::1", without brackets, port or zone; the result is normalized.
std::optional<Address> parse_address(std::string_view text);

/// The name of one client, for counting: an IPv4 address, or the 64 leading bits of an IPv6 address, within which a
/// host can take as many addresses as it likes. Such as "203.0.113.7" or "2001:db8:1:2::/64".
std::string client_group(const Address& address);
/// The client's group as a key that takes no memory: IPv4 within IPv6.
std::array<unsigned char, 16> client_key(const Address& address);

/// A network such as "10.0.0.0/8" or "fd00::/8", or one address.
class Network {
 public:
  /// Error: no network, or one with bits set after its prefix.
  static Result<Network> parse(std::string_view text);

  /// Whether `address`, which is normalized, is in the network.
  bool contains(const Address& address) const;

 private:
  using Bytes = std::array<unsigned char, 16>;

  bool is_v4_ = false;
  int prefix_bits_ = 0;
  Bytes bytes_ = {};  // for IPv4 the first four
};

}  // namespace octavo
