// The settings of a server's connections: addresses, the number of connections, and how much time and memory each may
// take. They are independent of models.
//
// Values: sections of ServerOptions, which outlives all connections, so that parts keep references to them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace octavo {

struct ListenAddress {
  std::string host = {};   // a name or an address, without brackets
  std::uint16_t port = 0;  // 0: a free one
};

struct TlsOptions {
  std::string certificate_file = {}, key_file = {};  // in PEM; both or none
  std::chrono::milliseconds ticket_key_interval = std::chrono::hours(12);
};

/// The most connections that may be open at once.
struct ConnectionLimits {
  std::size_t all = 4096;
  std::size_t per_client = 0;  // for one client_key(): an IPv4 address, or 64 bits of IPv6; 0: no limit
};

/// The bounds of one connection, and of what all of them together have received.
struct HttpLimits {
  std::size_t max_header_bytes = 16U << 10;
  std::size_t max_body_bytes = 8U << 20;
  std::size_t max_pipelined_bytes = 64U << 10;  // the most that a client may send while a request is answered
  std::size_t max_unsent_bytes = 1U << 20;      // for a reader that does not keep up; with more, the reader is cut off
  int max_requests = 10'000;                    // on one connection
  std::chrono::milliseconds idle_timeout{75'000};   // between two requests
  std::chrono::milliseconds read_timeout{30'000};   // from a request's first byte to its last; also for a TLS handshake
  std::chrono::milliseconds stall_time{1000};       // when places run out, a connection is closed whose head takes
                                                    // longer, or whose body has not grown for so long
  std::chrono::milliseconds write_timeout{30'000};  // while the client takes no byte
  std::uint64_t min_write_rate = 64U << 10;  // bytes per second that a client must take of what it is sent, after
                                             // a grace of write_timeout in all; 0: any
  /// The bound of what all connections have received and nobody has parsed yet. None: 256 MiB, or twice the largest
  /// request where that is more.
  std::optional<std::uint64_t> max_received_bytes = {};

  std::uint64_t largest_request_bytes() const { return max_header_bytes + max_body_bytes; }
  std::uint64_t received_bound() const {
    return max_received_bytes.value_or(std::max(std::uint64_t{256} << 20, 2 * largest_request_bytes()));
  }
};

}  // namespace octavo
