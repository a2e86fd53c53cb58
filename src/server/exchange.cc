#include "server/exchange.h"

#include <algorithm>

#include "base/utf8.h"
#include "server/trace_context.h"

namespace octavo::server {
namespace {

constexpr std::size_t kMaxRequestId = 128;

/// The headers by which clients name a session to the router before them, the first that is there counts.
constexpr std::string_view kSessionHeaders[] = {"X-Session-ID", "x-session-affinity"};

bool is_request_id(std::string_view text) {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  return !text.empty() && text.size() <= kMaxRequestId && std::ranges::all_of(text, printable);
}

void take_session(const HttpRequest& request, AccessRecord& record) {
  for (const std::string_view name : kSessionHeaders) {
    const auto lines = lines_of(request, name);
    if (lines.size() != 1 || !is_request_id(lines.front())) continue;
    record.session = lines.front();
    return;
  }
}

void take_trace(const HttpRequest& request, AccessRecord& record) {
  const auto traces = lines_of(request, "traceparent");
  if (traces.size() != 1) return;
  if (const auto trace = parse_traceparent(traces.front())) {
    record.trace_id = trace->trace_id;
    record.parent_id = trace->parent_id;
  }
}

}  // namespace

std::vector<std::string_view> lines_of(const HttpRequest& request, std::string_view name) {
  std::vector<std::string_view> lines;
  const auto [begin, end] = request.equal_range(name);
  for (auto field = begin; field != end; ++field) lines.emplace_back(field->value().data(), field->value().size());
  return lines;
}

std::string client_of(const Exchange& exchange) {
  return exchange.key.name.empty() ? "address " + client_group(exchange.client) : "key " + exchange.key.name;
}

std::string flow_of(const Exchange& exchange) {
  const auto lines = lines_of(exchange.request, "x-llm-d-inference-fairness-id");
  return lines.size() == 1 && is_request_id(lines.front()) ? std::string(lines.front()) : std::string();
}

void identify(Exchange& exchange, const Address& peer, const TrustedProxies& proxies, std::string own_id) {
  const HttpRequest& request = exchange.request;
  AccessRecord& record = exchange.record;
  exchange.client = peer;
  if (proxies.contains(peer))
    exchange.client = proxies.find_client(peer, lines_of(request, "X-Forwarded-For"), lines_of(request, "Forwarded"));
  record.peer = peer.to_string();
  if (exchange.client != peer) record.client = exchange.client.to_string();
  record.method = std::string(request.method_string());
  record.path = to_valid_utf8(request.target());
  record.id = std::string(request["X-Request-Id"]);
  if (!is_request_id(record.id)) record.id = std::move(own_id);
  take_session(request, record);
  take_trace(request, record);
}

}  // namespace octavo::server
