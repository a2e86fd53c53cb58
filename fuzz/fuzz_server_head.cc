// Any text as what a request's head says of its sender, and as what an operator writes about senders: hosts, proxies'
// headers, traces, keys, networks. The first byte says how the rest is cut into lines.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "http/address.h"
#include "http/forwarded.h"
#include "http/host_check.h"
#include "http/listener.h"
#include "server/access_log.h"
#include "server/api_keys.h"
#include "server/trace_context.h"

namespace {

using namespace octavo;
using namespace octavo::server;
using Lines = std::vector<std::string_view>;

void require(bool condition) {
  if (!condition) std::abort();
}

Lines lines_of(std::string_view text, char separator) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void check_forwarded(const Lines& lines) {
  const Address proxy = *parse_address("10.0.0.1"), stranger = *parse_address("198.51.100.1");
  TrustedProxies proxies;
  for (const char* network : {"10.0.0.0/8", "fd00::/8"}) proxies.add(*Network::parse(network));
  require(proxies.find_client(stranger, lines, lines) == stranger);
  const Address client = proxies.find_client(proxy, lines, {});
  require(client == normalized(client) && parse_address(client.to_string()) == client);
  require(proxies.find_client(proxy, {}, lines) == normalized(proxies.find_client(proxy, {}, lines)));
  // A line of the trusted proxy behind all that counts.
  Lines last = lines;
  last.emplace_back("203.0.113.7");
  require(proxies.find_client(proxy, last, {}).to_string() == "203.0.113.7");
  last.back() = "for=203.0.113.7";
  require(proxies.find_client(proxy, {}, last).to_string() == "203.0.113.7");
}

void check_host(const std::string& text) {
  const std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  const HostList own = *HostList::of(names);
  if (own.allows(text)) require(std::ranges::find(names, *parse_host(text)) != names.end());
  require(find_wrong_host(own, "evil.example", text).has_value());
  if (const auto list = HostList::of(std::vector{text}); list && !list->has_all()) {
    const auto address = parse_address(text);
    require(list->allows(address && address->is_v6() ? "[" + address->to_string() + "]:80" : text));
  }
  if (const auto network = Network::parse(text); network && text.find('/') == std::string::npos)
    require(network->contains(*parse_address(text)));
  if (const auto address = parse_listen_address(text)) require(!address->host.empty());
}

void check_keys(const std::string& text) {
  const auto keys = ApiKeys::parse(text, "keys");
  if (!keys) return require(!keys.error().message.empty());
  require(keys->size() > 0);
  for (const std::string_view line : lines_of(text, '\n')) {
    const ApiKey* key = keys->find("Bearer " + std::string(line));
    if (key != nullptr) require(!key->name.empty() && keys->contains(key->digest));
  }
}

void check_log(const std::string& text) {
  AccessRecord record{.path = to_valid_utf8(text)};
  if (const auto trace = parse_traceparent(text)) {
    require(trace->trace_id.size() == 32 && trace->parent_id.size() == 16);
    record.trace_id = trace->trace_id;
  }
  const std::string line = to_json_line(record, {});
  require(std::ranges::none_of(line, [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  check_forwarded(lines_of(text, static_cast<char>(data[0])));
  check_host(text);
  check_keys(text);
  check_log(text);
  return 0;
}
