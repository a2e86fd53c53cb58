// Fetches addresses that somebody else has named, several at a time. Nothing is connected to that the rules do not
// allow, whatever a name or a redirect leads to, and each fetch is bounded in time, redirects and bytes. A request has
// nothing but the address in it: no cookie, no password, no referrer; and no proxy is used, which could connect to
// anything.
//
// One call is one thread's, which waits and computes nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hub/ca_bundle.h"

namespace octavo::hub {

struct FetchRules {
  CaBundle ca_bundle = {};  // the trusted authorities; none: https is an error
  /// Whether an address may name a host: asked for the first address, and for each redirect.
  std::function<bool(const std::string& host, std::uint16_t port)> allows_host;
  /// Whether a host may lead to an address of 4 or 16 bytes. It is asked about the very address that is connected to.
  std::function<bool(std::span<const unsigned char> address, std::uint16_t port)> allows_address;
  std::string_view option = {};            // the option that sets the rules, for errors
  std::chrono::milliseconds time{10'000};  // for one fetch, with its redirects
  int redirects = 3;                       // in one fetch
  std::uint64_t bytes = 0;                 // the most bytes of one body
  std::uint64_t all_bytes = 0;             // all bodies of a call, each as often as it is used
};

struct FetchAsk {
  std::string url;
  int count = 1;  // how often the body is used
};

/// The bodies, in the order of the asks. Errors say what was found and expected: a host or an address that is not
/// allowed; a body that is too large (kPictureTooLarge); an answer that is no success; those of the network; kStopped.
std::vector<Result<std::string>> fetch_guarded(const FetchRules& rules, std::span<const FetchAsk> asks,
                                               const std::stop_token& stop);

}  // namespace octavo::hub
