#include "http/transport.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>

namespace octavo {
namespace {

using TlsStream = asio::ssl::stream<Tcp::socket>;

Tcp::socket& socket_of(Tcp::socket& stream) { return stream; }
Tcp::socket& socket_of(TlsStream& stream) { return stream.next_layer(); }

template <class Stream>
class StreamTransport : public Transport {
 public:
  explicit StreamTransport(Stream stream) : stream_(std::move(stream)) {}

  const Tcp::socket& socket() const override {
    if constexpr (std::is_same_v<Stream, Tcp::socket>)
      return stream_;
    else
      return stream_.next_layer();
  }
  asio::awaitable<bool> handshake() override { co_return true; }

  asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer) override {
    boost::system::error_code error;
    const std::size_t count =
        co_await stream_.async_read_some(buffer, asio::redirect_error(asio::use_awaitable, error));
    co_return error ? 0 : count;
  }
  asio::awaitable<std::size_t> write_some(asio::const_buffer buffer) override {
    boost::system::error_code error;
    const std::size_t count =
        co_await stream_.async_write_some(buffer, asio::redirect_error(asio::use_awaitable, error));
    co_return error ? 0 : count;
  }
  asio::awaitable<void> finish_writing() override {
    shut_down_socket();
    co_return;
  }
  void close() override {
    boost::system::error_code ignored;
    socket_of(stream_).close(ignored);
  }

 protected:
  void shut_down_socket() {
    boost::system::error_code ignored;
    socket_of(stream_).shutdown(Tcp::socket::shutdown_send, ignored);
  }

  Stream stream_;
};

class TlsTransport final : public StreamTransport<TlsStream> {
 public:
  TlsTransport(Tcp::socket socket, asio::ssl::context& context)
      : StreamTransport(TlsStream(std::move(socket), context)) {}

  asio::awaitable<bool> handshake() override {
    boost::system::error_code error;
    co_await stream_.async_handshake(asio::ssl::stream_base::server, asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }
  /// A read in progress goes on here, since the stream allows one read at a time.
  asio::awaitable<void> finish_writing() override {
    finishing_ = true;
    boost::system::error_code ignored;
    co_await stream_.async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
    shut_down_socket();
  }
  /// To OpenSSL, a peer that goes on sending after our alert is an error. Its bytes are taken off the socket even so,
  /// undecrypted: closing a socket with unread bytes would reset the connection.
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer) override {
    std::size_t count = co_await StreamTransport::read_some(buffer);
    boost::system::error_code error;
    if (count == 0 && finishing_)
      count = co_await stream_.next_layer().async_read_some(buffer, asio::redirect_error(asio::use_awaitable, error));
    co_return error ? 0 : count;
  }

 private:
  bool finishing_ = false;
};

}  // namespace

std::unique_ptr<Transport> make_plain_transport(Tcp::socket socket) {
  return std::make_unique<StreamTransport<Tcp::socket>>(std::move(socket));
}

std::unique_ptr<Transport> make_tls_transport(Tcp::socket socket, asio::ssl::context& context) {
  return std::make_unique<TlsTransport>(std::move(socket), context);
}

}  // namespace octavo
