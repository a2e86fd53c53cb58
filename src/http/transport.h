// The bytes of a connection, plain or encrypted. Owned by an HttpConnection; the I/O thread. One read and one write may
// be in progress at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <memory>

#include "base/error.h"

namespace octavo {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

class Transport {
 public:
  virtual ~Transport() = default;

  virtual const Tcp::socket& socket() const = 0;
  /// Called first. Plain connections have no handshake.
  virtual asio::awaitable<bool> handshake() = 0;
  /// Reads at least one byte; 0: the peer has closed, or the connection broke. After finish_writing() the bytes have no
  /// meaning.
  virtual asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer) = 0;
  virtual asio::awaitable<std::size_t> write_some(asio::const_buffer buffer) = 0;
  /// Ends writing; the peer sees the end after what was written. Encrypted: sends the close alert and waits for the
  /// peer's, until close().
  virtual asio::awaitable<void> finish_writing() = 0;
  /// Closes at once; reads and writes in progress return 0.
  virtual void close() = 0;
};

std::unique_ptr<Transport> make_plain_transport(Tcp::socket socket);
/// `context` must outlive it.
std::unique_ptr<Transport> make_tls_transport(Tcp::socket socket, asio::ssl::context& context);

}  // namespace octavo
