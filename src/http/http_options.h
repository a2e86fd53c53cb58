// The settings of a server's connections: the addresses, their number, and how much time and memory each may take. They
// know nothing of models.
//
// Values. Whoever is given one by reference keeps that: they are sections of ServerOptions, which outlive connections.
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
  std::string certificate_file = {}, key_file = {};  // PEM; both or none
  std::chrono::milliseconds ticket_key_interval = std::chrono::hours(12);
};

/// Connections that may be open at once, at most.
struct ConnectionLimits {
  std::size_t all = 4096;
  std::size_t per_client = 0;  // by client_key(): one address, or 64 bits of IPv6; 0: any number
};

/// The bounds of one connection, and of what all of them together have received.
struct HttpLimits {
  std::size_t max_header_bytes = 16U << 10;
  std::size_t max_body_bytes = 8U << 20;
  std::size_t max_pipelined_bytes = 64U << 10;  // that a client may send behind a request that is being answered
  std::size_t max_unsent_bytes = 1U << 20;  // made for a reader that does not keep up; beyond it the reader is cut off
  int max_requests = 10'000;                // on one connection
  std::chrono::milliseconds idle_timeout{75'000};   // between requests
  std::chrono::milliseconds read_timeout{30'000};   // from a request's first byte to its last; of a TLS handshake
  std::chrono::milliseconds stall_time{1000};       // a head that takes longer keeps no connection where these run out,
                                                    // nor a body of which nothing comes for so long
  std::chrono::milliseconds write_timeout{30'000};  // without the client taking a byte
  std::uint64_t min_write_rate = 64U << 10;         // bytes a second that a client must take of what is there for it,
                                                    // but for write_timeout in all; 0: any
  /// The bound of what all connections have received and nobody has parsed yet. None: 256 MiB, or twice the largest
  /// request where that is more.
  std::optional<std::uint64_t> max_received_bytes = {};

  std::uint64_t largest_request_bytes() const { return max_header_bytes + max_body_bytes; }
  std::uint64_t received_bound() const {
    return max_received_bytes.value_or(std::max(std::uint64_t{256} << 20, 2 * largest_request_bytes()));
  }
};

}  // namespace octavo
