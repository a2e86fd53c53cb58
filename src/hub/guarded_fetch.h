// Gets of addresses that somebody else has named, some at once: nothing is connected to that the rules do not allow,
// whatever a name or a redirect leads to, and each get is bounded in time, redirects and bytes. Nothing goes with one
// but the address: no cookie, no password, no referrer; and no proxy, which would connect to what it likes.
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
  /// Whether an address may name a host: of the first one, and of each that a redirect leads to.
  std::function<bool(const std::string& host, std::uint16_t port)> allows_host;
  /// Whether a host may lead to an address of 4 or 16 bytes. It is asked of the very address that is connected to.
  std::function<bool(std::span<const unsigned char> address, std::uint16_t port)> allows_address;
  std::string_view option = {};            // that says so, for errors
  std::chrono::milliseconds time{10'000};  // of one get, from its begin on, with its redirects
  int redirects = 3;                       // of one get
  std::uint64_t bytes = 0;                 // of one body
  std::uint64_t all_bytes = 0;             // of all bodies of a call, each as often as it is asked for
};

struct FetchAsk {
  std::string url;
  int count = 1;  // how often the body is used
};

/// The bodies, in the order of the asks. Errors say what was found and what was expected: a host or an address that is
/// not allowed, a body that is too large (kPictureTooLarge), an answer that is no success, the network's; kStopped.
std::vector<Result<std::string>> fetch_guarded(const FetchRules& rules, std::span<const FetchAsk> asks,
                                               const std::stop_token& stop);

}  // namespace octavo::hub
