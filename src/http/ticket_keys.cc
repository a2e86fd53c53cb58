#include "http/ticket_keys.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>

#include "base/random_bytes.h"
#include "base/to_size.h"

namespace octavo {
namespace {

// The values that OpenSSL expects from the callback.
constexpr int kFailed = -1, kUnknownKey = 0, kDone = 1, kDoneRenew = 2;

/// The index of a context's TicketKeys; Asio uses the one that OpenSSL has for applications.
int context_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

template <class Key>
void erase(std::optional<Key>& key) {
  if (key) OPENSSL_cleanse(&*key, sizeof *key);
  key.reset();
}

bool set_mac_key(EVP_MAC_CTX* mac, const std::array<unsigned char, 32>& key) {
  char digest[] = "SHA256";
  std::array<unsigned char, 32> copy = key;
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, copy.data(), copy.size()),
                               OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                               OSSL_PARAM_construct_end()};
  const bool done = EVP_MAC_CTX_set_params(mac, params) == 1;
  OPENSSL_cleanse(copy.data(), copy.size());
  return done;
}

}  // namespace

TicketKeys::~TicketKeys() {
  erase(current_);
  erase(previous_);
}

Result<void> TicketKeys::attach(SSL_CTX* context, Clock::time_point now) {
  renew(now);
  if (SSL_CTX_set_ex_data(context, context_index(), this) != 1 ||
      SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &TicketKeys::on_ticket) != 1)
    return fail("OpenSSL takes no keys of TLS session tickets");
  return {};
}

void TicketKeys::tick(Clock::time_point now) {
  if (now - renewed_ >= interval_) renew(now);
}

void TicketKeys::renew(Clock::time_point now) {
  Key key;
  fill_random(key.name);
  fill_random(key.cipher);
  fill_random(key.mac);
  erase(previous_);
  previous_ = current_;
  erase(current_);
  current_ = key;
  OPENSSL_cleanse(&key, sizeof key);
  renewed_ = now;
}

int TicketKeys::on_ticket(SSL* connection, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                          EVP_MAC_CTX* mac, int is_new) {
  const auto* keys = static_cast<const TicketKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), context_index()));
  return is_new != 0 ? keys->seal(name, iv, cipher, mac) : keys->open(name, iv, cipher, mac);
}

int TicketKeys::seal(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) const {
  const EVP_CIPHER* const aes = EVP_aes_256_cbc();
  fill_random({iv, to_size(EVP_CIPHER_get_iv_length(aes))});
  std::ranges::copy(current_->name, name);
  if (EVP_EncryptInit_ex2(cipher, aes, current_->cipher.data(), iv, nullptr) != 1) return kFailed;
  return set_mac_key(mac, current_->mac) ? kDone : kFailed;
}

int TicketKeys::open(const unsigned char* name, const unsigned char* iv, EVP_CIPHER_CTX* cipher,
                     EVP_MAC_CTX* mac) const {
  const auto fits = [name](const std::optional<Key>& key) {
    return key && std::memcmp(key->name.data(), name, key->name.size()) == 0;
  };
  const bool is_current = fits(current_);
  if (!is_current && !fits(previous_)) return kUnknownKey;
  const Key& key = is_current ? *current_ : *previous_;
  if (EVP_DecryptInit_ex2(cipher, EVP_aes_256_cbc(), key.cipher.data(), iv, nullptr) != 1) return kFailed;
  if (!set_mac_key(mac, key.mac)) return kFailed;
  return is_current ? kDone : kDoneRenew;
}

}  // namespace octavo
