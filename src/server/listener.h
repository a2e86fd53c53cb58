// An address at which the server listens, and the rules for those who come in there. Owned by the server; the I/O
// thread.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "server/address.h"
#include "server/api_error.h"
#include "server/forwarded.h"
#include "server/host_check.h"

namespace octavo::server {

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

struct ListenAddress {
  std::string host = {};   // a name or an address, without brackets
  std::uint16_t port = 0;  // 0: a free one
};

/// "127.0.0.1:9100", "[::1]:9100", "localhost:9100".
Result<ListenAddress> parse_listen_address(std::string_view text);

/// Connections that may be open at once, at most.
struct ConnectionLimits {
  std::size_t all = 4096;
  std::size_t per_client = 0;               // by client_key(); 0: any number
  const TrustedProxies* proxies = nullptr;  // these count for many, and so for nobody; null: there are none
};

class Listener {
 public:
  Listener(boost::asio::io_context& io, const ConnectionLimits& limits) : acceptor_(io), limits_(limits) {}

  /// Error: no such address, or it cannot be listened at.
  Result<void> open(const std::string& host, std::uint16_t port);
  /// Only this machine can call. From open() on, as the rest.
  bool is_loopback() const;
  /// "127.0.0.1:8080", "[::1]:8080"
  std::string authority() const;

  /// Counts a connection, until leave(). An error: it is one too many and was not counted.
  std::optional<ApiError> enter(const Address& peer);
  void leave(const Address& peer) noexcept;

  boost::asio::ip::tcp::acceptor& acceptor() { return acceptor_; }
  Entrance& entrance() { return entrance_; }
  /// Whether a loop accepts connections; that loop sets it.
  bool& accepting() { return accepting_; }

 private:
  bool is_limited(const Address& peer) const;

  boost::asio::ip::tcp::acceptor acceptor_;
  Entrance entrance_ = {};
  const ConnectionLimits limits_;
  bool accepting_ = false;
  std::size_t num_connections_ = 0;
  std::map<std::array<unsigned char, 16>, std::size_t> num_by_client_;  // of those that are limited
};

}  // namespace octavo::server
