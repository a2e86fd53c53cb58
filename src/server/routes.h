// The paths that there are, and their methods. Immutable; any thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/verb.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "api/call/api_error.h"
#include "api/openapi.h"

namespace octavo::server {

struct Exchange;
struct RouteRow;
struct ServiceParts;

struct RouteMatch {
  const RouteRow* row;
  std::string argument;  // that stands for {id}, or of a queried row its query's model, with its percent-escapes
                         // decoded: any bytes
};

/// A request on its way to its answer, and the parts of the server that answer it. All outlive the answer.
struct RouteCall {
  ServiceParts& parts;
  Exchange& exchange;
  const RouteMatch& match;
};

struct RouteRow {
  std::string_view path;  // "{id}" stands for a client's text; so metrics name it
  boost::beast::http::verb method = boost::beast::http::verb::get;
  boost::asio::awaitable<void> (*answer)(RouteCall call) = nullptr;
  bool needs_key = false;
  bool needs_models = false;  // answered when models are being served: before, and a POST when one has failed, with 503
  bool takes_slashes = false;                 // in the client's text
  bool is_queried = false;                    // its query names a model
  bool is_probe = false, is_metrics = false;  // Entrance's
  const Api* api = nullptr;
  RouteText text = {};  // of one that is of no API
};

class Routes {
 public:
  /// The routes of the APIs, and those that every server has.
  explicit Routes(std::span<const Api> apis = all_apis());

  /// The path of a request's target, which may be a whole URL, as the table of routes spells it: slashes that are one
  /// too many are left out, and so is a /v1, or put in, where there is such a path and not that one. Clients are given
  /// an address with /v1 or without, with a slash at its end or without. A path that is not there, without the former.
  std::string known_path(std::string_view target) const;

  /// `target` is a request's, a path or a whole URL, with its query. Errors: 400 (an escape that is none), 404, 405; a
  /// HEAD is a GET.
  ApiResult<RouteMatch> find(boost::beast::http::verb method, std::string_view target) const;
  /// "GET, HEAD", "POST" or "GET, HEAD, DELETE": of a 405's Allow header; empty for an unknown path.
  std::string allowed_methods(std::string_view target) const;

  /// /openapi.json: all of them.
  std::string description() const;

  /// The body of an error's answer, in the form of the API that has this target.
  std::string error_body(std::string_view target, const ApiError& error) const;

 private:
  bool is_known(std::string_view path) const;
  /// Whether a route has just this path, which is then no other one's with a client's text in it.
  bool has_spelt_out(std::string_view path) const;

  std::span<const Api> apis_;
  std::vector<RouteRow> rows_;
};

}  // namespace octavo::server
