// An address at which the server listens, and the rules for those who come in there. Owned by the server; the I/O
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/address.h"
#include "http/connection_places.h"
#include "http/host_check.h"
#include "http/http_options.h"

namespace octavo {

/// The rules at one of the server's addresses.
struct Entrance {
  HostList hosts = {};         // the names that the Host of a request may have
  bool has_metrics = true;     // /metrics is served
  bool metrics_alone = false;  // besides it only /health and /ready are served; no key is needed
};

/// The other end of a connection, and the entrance at which it came in.
struct Visitor {
  Address peer = {};  // normalized
  const Entrance* entrance = nullptr;
};

/// Reads "127.0.0.1:9100", "[::1]:9100" or "localhost:9100".
Result<ListenAddress> parse_listen_address(std::string_view text);

class Listener {
 public:
  /// All references must outlive it.
  Listener(boost::asio::io_context& io, const ConnectionLimits& limits, const TrustedProxies& proxies)
      : acceptor_(io), places_(limits, proxies) {}

  /// Error: there is no such address, or it cannot be listened at.
  Result<void> open(const std::string& host, std::uint16_t port);
  /// Whether only this machine can call. Valid after open(), as all functions below.
  bool is_loopback() const;
  /// The address, such as "127.0.0.1:8080" or "[::1]:8080".
  std::string authority() const;

  boost::asio::ip::tcp::acceptor& acceptor() { return acceptor_; }
  Entrance& entrance() { return entrance_; }
  ConnectionPlaces& places() { return places_; }
  /// Whether a loop accepts connections; that loop sets it.
  bool& accepting() { return accepting_; }

 private:
  boost::asio::ip::tcp::acceptor acceptor_;
  Entrance entrance_ = {};
  ConnectionPlaces places_;
  bool accepting_ = false;
};

}  // namespace octavo
