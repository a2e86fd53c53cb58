// What all encrypted connections share: certificate, private key, and the keys of their session tickets. Owned by the
// server; the I/O thread.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <memory>

#include "base/error.h"
#include "http/http_options.h"
#include "http/ticket_keys.h"

namespace octavo {

class TlsContext {
 public:
  /// TLS 1.2 or newer, with the certificate chain and the key of two PEM files. Errors name the file.
  static Result<std::unique_ptr<TlsContext>> make(const TlsOptions& options);

  boost::asio::ssl::context& context() { return context_; }
  /// Called now and then.
  void tick(std::chrono::steady_clock::time_point now) { ticket_keys_.tick(now); }

 private:
  explicit TlsContext(const TlsOptions& options) : ticket_keys_(options.ticket_key_interval) {}
  Result<void> set_up(const TlsOptions& options);

  TicketKeys ticket_keys_;
  boost::asio::ssl::context context_{boost::asio::ssl::context::tls_server};
};

}  // namespace octavo
