#include "http/tls_context.h"

namespace octavo {

namespace ssl = boost::asio::ssl;

Result<std::unique_ptr<TlsContext>> TlsContext::make(const TlsOptions& options) {
  auto made = std::unique_ptr<TlsContext>(new TlsContext(options));
  OCTAVO_TRY_VOID(made->set_up(options));
  return made;
}

Result<void> TlsContext::set_up(const TlsOptions& options) {
  boost::system::error_code error;
  context_.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                       ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::single_dh_use);
  SSL_CTX* const native = context_.native_handle();
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // an idle connection holds no record buffers
  // Clients resume sessions with tickets, which they keep themselves.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  OCTAVO_TRY_VOID(ticket_keys_.attach(native, std::chrono::steady_clock::now()));
  // An encrypted key is an error; nobody is asked for its passphrase.
  context_.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); });
  context_.use_certificate_chain_file(options.certificate_file, error);
  if (error) return fail("{}: cannot use it as a PEM certificate chain: {}", options.certificate_file, error.message());
  context_.use_private_key_file(options.key_file, ssl::context::pem, error);
  if (error)
    return fail("{}: cannot use it as the PEM private key of {}: {}", options.key_file, options.certificate_file,
                error.message());
  return {};
}

}  // namespace octavo
