#include "http/forwarded.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>
#include <cstdint>

#include "base/ascii.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxLine = 16U << 10;
constexpr std::string_view kBlanks = " \t";

/// Whether a text is a port, or a name that stands for one (RFC 7239, 6).
bool is_node_port(std::string_view text) {
  if (text.starts_with('_')) return text.size() > 1;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

/// Reads an address with or without a port. IPv6 has brackets, which are often left out in X-Forwarded-For.
std::optional<Address> parse_node(std::string_view text, bool may_be_bare) {
  std::string_view address = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || text.substr(0, end).find(':') == std::string_view::npos) return std::nullopt;
    address = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else if (std::ranges::count(text, ':') == 1) {
    address = text.substr(0, text.find(':'));
    rest = text.substr(text.find(':'));
  } else if (!may_be_bare && text.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  if (!rest.empty() && (rest.front() != ':' || !is_node_port(rest.substr(1)))) return std::nullopt;
  return parse_address(address);
}

/// Reads the elements of one Forwarded line (RFC 7239, 4).
class ForwardedReader {
 public:
  explicit ForwardedReader(std::string_view line) : rest_(line) {}

  /// False: the line breaks the grammar.
  bool read(Hops& hops) {
    for (;;) {
      skip_space();
      if (rest_.empty()) return true;
      if (take(',')) continue;  // an empty element (RFC 9110, 5.6.1)
      std::optional<std::string> node;
      if (!read_element(node)) return false;
      hops.push_back(node ? parse_node(*node, false) : std::nullopt);
      skip_space();
      if (!rest_.empty() && !take(',')) return false;
    }
  }

 private:
  static bool is_token_char(char c) {
    constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
    return is_letter_or_digit(c) || kOthers.contains(c);
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_space() { rest_ = without_leading(rest_, kBlanks); }
  std::string_view read_token() {
    const auto end = std::ranges::find_if_not(rest_, is_token_char);
    const std::string_view token = rest_.substr(0, to_size(end - rest_.begin()));
    rest_.remove_prefix(token.size());
    return token;
  }
  bool read_quoted(std::string& value) {
    while (!rest_.empty()) {
      if (take('"')) return true;
      if (take('\\') && rest_.empty()) return false;
      value += rest_.front();
      rest_.remove_prefix(1);
    }
    return false;
  }
  /// Reads name=value pairs with semicolons between them; pairs may be empty.
  bool read_element(std::optional<std::string>& node) {
    for (;;) {
      if (!rest_.empty() && is_token_char(rest_.front())) {
        const std::string_view name = read_token();
        std::string value;
        if (!take('=')) return false;
        if (take('"')) {
          if (!read_quoted(value)) return false;
        } else {
          value = read_token();
          if (value.empty()) return false;
        }
        const bool is_for = boost::beast::iequals(name, "for");
        if (is_for && node) return false;
        if (is_for) node = std::move(value);
      }
      skip_space();
      if (!take(';')) return true;
      skip_space();
    }
  }

  std::string_view rest_;
};

}  // namespace

Hops parse_x_forwarded_for(std::string_view line) {
  Hops hops;
  while (!line.empty() && hops.size() <= kMaxForwardedHops) {
    const std::size_t comma = line.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    const std::string_view node = trimmed(line.substr(begin), kBlanks);
    if (!node.empty()) hops.push_back(parse_node(node, true));
    line = line.substr(0, begin == 0 ? 0 : begin - 1);
  }
  std::ranges::reverse(hops);
  return hops;
}

Hops parse_forwarded(std::string_view line) {
  Hops hops;
  if (line.size() > kMaxLine || !ForwardedReader(line).read(hops)) return {std::nullopt};
  return hops;
}

bool TrustedProxies::contains(const Address& address) const {
  return std::ranges::any_of(networks_, [&](const Network& network) { return network.contains(address); });
}

/// Walks back from the last hop, as every hop was written by the one after it.
std::optional<Address> TrustedProxies::walk(const Address& peer, std::span<const std::string_view> lines,
                                            ParseLine parse_line) const {
  Address client = peer;
  std::size_t num_hops = 0;
  for (std::size_t i = lines.size(); i-- > 0;) {
    const Hops hops = parse_line(lines[i]);
    for (std::size_t j = hops.size(); j-- > 0;) {
      if (!hops[j] || ++num_hops > kMaxForwardedHops) return std::nullopt;
      client = *hops[j];
      if (!contains(client)) return client;
    }
  }
  return client;
}

Address TrustedProxies::find_client(const Address& peer, std::span<const std::string_view> x_forwarded_for,
                                    std::span<const std::string_view> forwarded) const {
  if (!contains(peer)) return peer;
  const auto by_x = walk(peer, x_forwarded_for, parse_x_forwarded_for);
  const auto by_standard = walk(peer, forwarded, parse_forwarded);
  if (forwarded.empty()) return by_x.value_or(peer);
  if (x_forwarded_for.empty()) return by_standard.value_or(peer);
  return by_x && by_x == by_standard ? *by_x : peer;
}

}  // namespace octavo
