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

/// The rules for those who come in at one of the server's addresses.
struct Entrance {
  HostList hosts = {};         // names that a request may have as its Host
  bool has_metrics = true;     // /metrics is served
  bool metrics_alone = false;  // and nothing but it, /health and /ready; nobody needs a key
};

/// The other end of a connection, and the entrance at which it came in.
struct Visitor {
  Address peer = {};  // normalized
  const Entrance* entrance = nullptr;
};

/// "127.0.0.1:9100", "[::1]:9100", "localhost:9100".
Result<ListenAddress> parse_listen_address(std::string_view text);

class Listener {
 public:
  /// All must outlive it.
  Listener(boost::asio::io_context& io, const ConnectionLimits& limits, const TrustedProxies& proxies)
      : acceptor_(io), places_(limits, proxies) {}

  /// Error: no such address, or it cannot be listened at.
  Result<void> open(const std::string& host, std::uint16_t port);
  /// Only this machine can call. From open() on, as the rest.
  bool is_loopback() const;
  /// "127.0.0.1:8080", "[::1]:8080"
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
