// The keys that seal TLS session tickets. Whoever has its key can open the session of a ticket, so no key lives long:
// each is replaced by another, opens tickets for as long again, and is then destroyed.
//
// Owned by a TlsContext; the I/O thread.
#pragma once

#include <openssl/types.h>

#include <array>
#include <chrono>
#include <optional>

#include "base/error.h"

namespace octavo {

class TicketKeys {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TicketKeys(std::chrono::milliseconds interval) : interval_(interval) {}
  ~TicketKeys();
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;

  /// Makes `context` seal and open its tickets with these keys, which must outlive it. Error: OpenSSL does not accept
  /// them.
  Result<void> attach(SSL_CTX* context, Clock::time_point now);
  /// Renews the key when it is due. Called now and then.
  void tick(Clock::time_point now);

 private:
  struct Key {
    std::array<unsigned char, 16> name;
    std::array<unsigned char, 32> cipher, mac;
  };

  static int on_ticket(SSL* connection, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                       EVP_MAC_CTX* mac, int is_new);
  int seal(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) const;
  int open(const unsigned char* name, const unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) const;
  void renew(Clock::time_point now);

  const std::chrono::milliseconds interval_;
  Clock::time_point renewed_ = {};
  std::optional<Key> current_, previous_;
};

}  // namespace octavo
