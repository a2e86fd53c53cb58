#include "http/public_address.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace octavo {
namespace {

using V4 = boost::asio::ip::address_v4;
using Bytes = boost::asio::ip::address_v6::bytes_type;

/// The addresses whose first `bits` bits are those of `first`.
struct V4Range {
  std::uint32_t first;
  int prefix_bits;
};

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
  return a << 24U | b << 16U | c << 8U;
}

constexpr V4Range kInwardV4[] = {
    {v4(0), 8},              // this network
    {v4(10), 8},             // private
    {v4(100, 64), 10},       // between a carrier and its customers
    {v4(127), 8},            // loopback
    {v4(169, 254), 16},      // link-local, where clouds keep their machines' keys
    {v4(172, 16), 12},       // private
    {v4(192), 24},           // protocols
    {v4(192, 0, 2), 24},     // documentation
    {v4(192, 88, 99), 24},   // relays of 6to4
    {v4(192, 168), 16},      // private
    {v4(198, 18), 15},       // measurements
    {v4(198, 51, 100), 24},  // documentation
    {v4(203, 0, 113), 24},   // documentation
    {v4(224), 4},            // multicast
    {v4(240), 4},            // reserved, and broadcast
};

bool is_public_v4(std::uint32_t address) {
  return std::ranges::none_of(kInwardV4, [address](const V4Range& range) {
    return (address ^ range.first) >> static_cast<unsigned>(32 - range.prefix_bits) == 0;
  });
}

/// The first 64 bits of an IPv6 address, which are enough to tell its range.
std::uint64_t leading_bits(const Bytes& bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits = bits << 8U | bytes[i];
  return bits;
}

struct V6Range {
  std::uint64_t first;
  int prefix_bits;

  constexpr bool contains(std::uint64_t bits) const {
    return (bits ^ first) >> static_cast<unsigned>(64 - prefix_bits) == 0;
  }
};

constexpr V6Range kGlobal = {0x2000'0000'0000'0000, 3};  // all that was ever given to somebody
constexpr V6Range kInwardV6[] = {
    {0x2001'0000'0000'0000, 23},  // protocols: Teredo, measurements, ORCHID
    {0x2001'0db8'0000'0000, 32},  // all that was ever assigned
    {0x2002'0000'0000'0000, 16},  // 6to4
    {0x3fff'0000'0000'0000, 20},  // documentation
};
constexpr Bytes kNat64 = {0x00, 0x64, 0xff, 0x9b};  // this, then zeros, before the last four bytes
constexpr std::size_t kNat64Bytes = 12;

}  // namespace

bool is_public(const Address& address) {
  const Address plain = normalized(address);
  if (plain.is_v4()) return is_public_v4(plain.to_v4().to_uint());
  const Bytes bytes = plain.to_v6().to_bytes();
  if (std::equal(bytes.begin(), bytes.begin() + kNat64Bytes, kNat64.begin()))
    return is_public_v4(V4({bytes[12], bytes[13], bytes[14], bytes[15]}).to_uint());
  const std::uint64_t bits = leading_bits(bytes);
  return kGlobal.contains(bits) &&
         std::ranges::none_of(kInwardV6, [bits](const V6Range& range) { return range.contains(bits); });
}

}  // namespace octavo
