#include "http/listener.h"

#include <charconv>

namespace octavo {

using Tcp = boost::asio::ip::tcp;

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  ListenAddress address;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  const bool has_port = !port.empty() && error == std::errc() && end == port.data() + port.size();
  const bool has_brackets = host.starts_with('[') && host.ends_with(']');
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (!has_port || host.empty() || has_brackets != (host.find(':') != std::string_view::npos))
    return fail("found '{}', expected an address and a port, such as 127.0.0.1:9100 or [::1]:9100", text);
  address.host = host;
  return address;
}

Result<void> Listener::open(const std::string& host, std::uint16_t port) {
  boost::system::error_code error;
  Tcp::resolver resolver(acceptor_.get_executor());
  const auto found = resolver.resolve(host, std::to_string(port), Tcp::resolver::passive, error);
  if (error || found.empty()) return fail("{}: unknown address: {}", host, error.message());
  const Tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  if (!error) acceptor_.non_blocking(true, error);
  if (error) return fail("{}:{}: cannot listen: {}", host, port, error.message());
  return {};
}

bool Listener::is_loopback() const { return normalized(acceptor_.local_endpoint().address()).is_loopback(); }

std::string Listener::authority() const {
  const Tcp::endpoint endpoint = acceptor_.local_endpoint();
  const std::string address = endpoint.address().to_string();
  return fmt::format("{}:{}", endpoint.address().is_v6() ? "[" + address + "]" : address, endpoint.port());
}

}  // namespace octavo
