// TLS session tickets: their keys do not live long. The handshakes are between two ends in memory.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

#include "http/tls_context.h"
#include "server/test_client.h"
#include "support/temp_file.h"

namespace octavo::test {
namespace {

using namespace server;

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(SSL* p) const { SSL_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(SSL_SESSION* p) const { SSL_SESSION_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

class Tickets : public ServerTest {
 protected:
  Tickets() {
    const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    const Owned<X509> certificate(X509_new());
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    const Owned<BIO> one(BIO_new(BIO_s_mem())), two(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(one.get(), certificate.get());
    PEM_write_bio_PrivateKey(two.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    certificate_.write(text_of(one.get()));
    key_.write(text_of(two.get()));
    // With a cache, OpenSSL's client uses a ticket once.
    SSL_CTX_set_session_cache_mode(client_.get(), SSL_SESS_CACHE_OFF);
  }

  TlsOptions tls_options(std::chrono::milliseconds interval) const {
    return {.certificate_file = certificate_.string(), .key_file = key_.string(), .ticket_key_interval = interval};
  }
  /// Each side's turn until both are done and the client has read the tickets; whether the session was resumed.
  bool is_resumed(TlsContext& context, SSL_SESSION* session) {
    const Owned<SSL> server(SSL_new(context.context().native_handle())), client(SSL_new(client_.get()));
    BIO *to_server = nullptr, *to_client = nullptr;
    BIO_new_bio_pair(&to_server, 1 << 16, &to_client, 1 << 16);
    SSL_set_bio(server.get(), to_server, to_server);
    SSL_set_bio(client.get(), to_client, to_client);
    SSL_set_accept_state(server.get());
    SSL_set_connect_state(client.get());
    if (session != nullptr) SSL_set_session(client.get(), session);
    for (int i = 0; i < 10; ++i) {
      SSL_do_handshake(client.get());
      SSL_do_handshake(server.get());
    }
    char byte = 'x';
    EXPECT_EQ(SSL_write(server.get(), &byte, 1), 1);
    EXPECT_EQ(SSL_read(client.get(), &byte, 1), 1);
    end(client.get());
    return SSL_session_reused(client.get()) == 1;
  }

  /// Keeps the session. OpenSSL resumes none whose connection was dropped.
  void end(SSL* client) {
    session_.reset(SSL_get1_session(client));
    SSL_set_shutdown(client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }

  const TempFile certificate_{""}, key_{""};
  const Owned<SSL_CTX> client_{SSL_CTX_new(TLS_client_method())};
  Owned<SSL_SESSION> session_;  // of the last connection, with the last ticket
};

TEST_F(Tickets, AKeyOpensItsTicketsForAsLongAgainAndIsThenGone) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_CTX_set_min_proto_version(client_.get(), version);
    SSL_CTX_set_max_proto_version(client_.get(), version);
    const auto context = TlsContext::make(tls_options(1h)).value();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(is_resumed(*context, nullptr));
    const Owned<SSL_SESSION> first = std::move(session_);
    EXPECT_TRUE(is_resumed(*context, first.get()));
    context->tick(begin + 59min);
    EXPECT_TRUE(is_resumed(*context, first.get()));
    context->tick(begin + 61min);
    EXPECT_TRUE(is_resumed(*context, first.get()));         // by the previous key
    const Owned<SSL_SESSION> second = std::move(session_);  // with a ticket by the new key
    context->tick(begin + 122min);
    EXPECT_FALSE(is_resumed(*context, first.get()));
    EXPECT_TRUE(is_resumed(*context, second.get()));
  }
}

TEST_F(Tickets, OneServersTicketsSayNothingToAnother) {
  const auto one = TlsContext::make(tls_options(1h)).value(), two = TlsContext::make(tls_options(1h)).value();
  EXPECT_FALSE(is_resumed(*one, nullptr));
  const Owned<SSL_SESSION> session = std::move(session_);
  EXPECT_FALSE(is_resumed(*two, session.get()));
  EXPECT_TRUE(is_resumed(*one, session.get()));
}

TEST_F(Tickets, ARunningServerRenewsItsKeys) {
  options_.listen.tls = tls_options(300ms);
  start_ready();
  const auto connect = [this](SSL_SESSION* session) {
    boost::asio::io_context io;
    Tcp::socket socket(io);
    socket.connect({boost::asio::ip::address_v4::loopback(), port_});
    const Owned<SSL> client(SSL_new(client_.get()));
    SSL_set_fd(client.get(), socket.native_handle());
    if (session != nullptr) SSL_set_session(client.get(), session);
    if (SSL_connect(client.get()) != 1) return -1;
    const std::string request = get("/health");
    SSL_write(client.get(), request.data(), static_cast<int>(request.size()));
    char answer[4096];
    if (SSL_read(client.get(), answer, sizeof answer) <= 0) return -1;
    end(client.get());
    return SSL_session_reused(client.get());
  };
  Owned<SSL_SESSION> first;
  ASSERT_TRUE(eventually([&] {  // a slow machine may let both keys pass before the second connection
    if (connect(nullptr) != 0) return false;
    first = std::move(session_);
    return connect(first.get()) == 1;
  }));
  EXPECT_TRUE(eventually([&] { return connect(first.get()) == 0; }));
}

}  // namespace
}  // namespace octavo::test
