#include "http/address.h"

#include <algorithm>
#include <charconv>

#include "base/to_size.h"

namespace octavo {
namespace {

using V4 = boost::asio::ip::address_v4;
using V6 = boost::asio::ip::address_v6;

constexpr std::size_t kMaxText = 45;  // ::ffff: in six groups of four digits, then an IPv4 address
constexpr int kMappedBits = 96;       // the prefix ::ffff:0:0/96, for IPv4 addresses within IPv6
constexpr int kGroupBits = 64;

std::array<unsigned char, 16> bytes_of(const Address& address) {
  if (address.is_v6()) return address.to_v6().to_bytes();
  std::array<unsigned char, 16> bytes{};
  std::ranges::copy(address.to_v4().to_bytes(), bytes.begin());
  return bytes;
}

/// The bytes with all bits after the first `count` set to 0.
std::array<unsigned char, 16> masked(std::array<unsigned char, 16> bytes, int count) {
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(count - 8 * i, 0, 8);
    bytes[to_size(i)] &= static_cast<unsigned char>(0xFF00 >> kept);
  }
  return bytes;
}

std::string text_of(const std::array<unsigned char, 16>& bytes, bool is_v4) {
  if (!is_v4) return V6(bytes).to_string();
  return V4({bytes[0], bytes[1], bytes[2], bytes[3]}).to_string();
}

/// Reads an address without changing its form: IPv4 within IPv6 stays IPv6.
std::optional<Address> parse_as_written(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
  };
  if (text.empty() || text.size() > kMaxText || !std::ranges::all_of(text, fits)) return std::nullopt;
  boost::system::error_code error;
  Address address = boost::asio::ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  return address;
}

}  // namespace

Address normalized(const Address& address) {
  if (address.is_v4()) return address;
  V6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, v6);
  v6.scope_id(0);
  return v6;
}

std::optional<Address> parse_address(std::string_view text) {
  const std::optional<Address> address = parse_as_written(text);
  if (!address) return std::nullopt;
  return normalized(*address);
}

std::array<unsigned char, 16> client_key(const Address& address) {
  const Address client = normalized(address);
  if (client.is_v6()) return masked(bytes_of(client), kGroupBits);
  return boost::asio::ip::make_address_v6(boost::asio::ip::v4_mapped, client.to_v4()).to_bytes();
}

std::string client_group(const Address& address) {
  const Address client = normalized(address);
  if (client.is_v4()) return client.to_string();
  return fmt::format("{}/{}", text_of(client_key(client), false), kGroupBits);
}

Result<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<Address> address = parse_as_written(text.substr(0, slash));
  if (!address) return fail("found '{}', expected an address, or a network such as 10.0.0.0/8 or fd00::/8", text);
  const int all_bits = address->is_v4() ? 32 : 128;
  int bits = all_bits;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(prefix.data(), prefix.data() + prefix.size(), bits);
    if (error != std::errc() || end != prefix.data() + prefix.size() || bits < 0 || bits > all_bits)
      return fail("found '{}', expected a prefix of 0 to {} bits", text, all_bits);
  }
  Network network;
  network.is_v4_ = address->is_v4();
  network.prefix_bits_ = bits;
  network.bytes_ = bytes_of(*address);
  if (const Bytes first = masked(network.bytes_, bits); first != network.bytes_)
    return fail("found '{}', whose address has bits behind its prefix, expected {}/{}", text,
                text_of(first, network.is_v4_), bits);
  if (const Address plain = normalized(*address); plain.is_v4() && !network.is_v4_ && bits >= kMappedBits) {
    network.is_v4_ = true;
    network.prefix_bits_ = bits - kMappedBits;
    network.bytes_ = bytes_of(plain);
  }
  return network;
}

bool Network::contains(const Address& address) const {
  return address.is_v4() == is_v4_ && masked(bytes_of(address), prefix_bits_) == bytes_;
}

}  // namespace octavo
