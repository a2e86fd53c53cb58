#include "server/trace_context.h"

#include <algorithm>

namespace octavo::server {
namespace {

// The form is "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".
constexpr std::size_t kTraceBegin = 3, kTraceDigits = 32;
constexpr std::size_t kParentBegin = 36, kParentDigits = 16;
constexpr std::size_t kFlagsBegin = 53, kLength = 55;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '0'; });
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < kLength) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const bool has_more = text.size() > kLength;
  if (!is_hex(version) || version == "ff") return std::nullopt;
  if (has_more && (version == "00" || text[kLength] != '-')) return std::nullopt;
  for (const std::size_t dash : {kTraceBegin - 1, kParentBegin - 1, kFlagsBegin - 1})
    if (text[dash] != '-') return std::nullopt;
  const std::string_view trace = text.substr(kTraceBegin, kTraceDigits);
  const std::string_view parent = text.substr(kParentBegin, kParentDigits);
  if (!is_hex(trace) || is_zero(trace) || !is_hex(parent) || is_zero(parent)) return std::nullopt;
  if (!is_hex(text.substr(kFlagsBegin, 2))) return std::nullopt;
  return TraceContext{.trace_id = std::string(trace), .parent_id = std::string(parent)};
}

}  // namespace octavo::server
