// The sender of a request that came through proxies: X-Forwarded-For, and Forwarded (RFC 7239). Anybody can send these
// headers, so they count only as far as the proxies that wrote them are trusted.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "http/address.h"

namespace octavo {

/// The hops that a header line names, in order; none where a hop has no address ("unknown", "_hidden", or a wrong
/// text).
using Hops = std::vector<std::optional<Address>>;

/// Reads "203.0.113.7, [2001:db8::1]:4711": addresses with or without a port. Of a long list the result has the last
/// kMaxForwardedHops + 1.
Hops parse_x_forwarded_for(std::string_view line);
/// Reads "for=203.0.113.7;proto=https, for=\"[2001:db8::1]:4711\"". A line that breaks the grammar is one hop of
/// unknown address: after an unfinished quotation nobody can say what a proxy wrote.
Hops parse_forwarded(std::string_view line);

inline constexpr std::size_t kMaxForwardedHops = 32;

class TrustedProxies {
 public:
  /// Trusts no proxy.
  TrustedProxies() = default;
  void add(const Network& network) { networks_.push_back(network); }

  bool contains(const Address& address) const;
  /// The sender of a request that came from `peer` with these header lines: the last hop that is no trusted proxy, or
  /// the first hop if all are. It is `peer` itself if that is no trusted proxy; if a hop that matters is unknown; if
  /// there are more than kMaxForwardedHops; and if both headers are there and disagree, for then the client wrote one
  /// of them.
  Address find_client(const Address& peer, std::span<const std::string_view> x_forwarded_for,
                      std::span<const std::string_view> forwarded) const;

 private:
  using ParseLine = Hops (*)(std::string_view line);
  std::optional<Address> walk(const Address& peer, std::span<const std::string_view> lines, ParseLine parse_line) const;

  std::vector<Network> networks_;
};

}  // namespace octavo
