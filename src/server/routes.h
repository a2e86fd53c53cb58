// The paths of the server and their methods. Immutable; any thread.
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
  std::string argument;  // the text for {id}, or the model in a queried row's query; percent-escapes are
                         // decoded, so it may have any bytes
};

/// A request that is being answered, and the parts of the server that answer it. All of them outlive the answer.
struct RouteCall {
  ServiceParts& parts;
  Exchange& exchange;
  const RouteMatch& match;
};

struct RouteRow {
  std::string_view path;  // "{id}" stands for a client's text; metrics have the path in this form
  boost::beast::http::verb method = boost::beast::http::verb::get;
  boost::asio::awaitable<void> (*answer)(RouteCall call) = nullptr;
  bool needs_key = false;
  bool needs_models = false;   // answered once models are served: 503 before, and for a POST also after one has failed
  bool takes_slashes = false;  // the client's text may have slashes
  bool is_queried = false;     // its query may name a model
  bool is_probe = false, is_metrics = false;  // see Entrance
  const Api* api = nullptr;
  RouteText text = {};  // for a route that is of no API
};

class Routes {
 public:
  /// The routes of `apis`, and those that every server has.
  explicit Routes(std::span<const Api> apis = all_apis());

  /// The path of a request's target, which may be a whole URL, as the table spells it. Surplus slashes are dropped, and
  /// /v1 is dropped or added where only that gives a known path: clients are given an address with or without /v1, and
  /// with or without a slash at its end. An unknown path comes without surplus slashes.
  std::string known_path(std::string_view target) const;

  /// Finds the route of a request; `target` is a path or a whole URL, with its query. Errors: a wrong escape (400),
  /// 404, 405; a HEAD counts as a GET.
  ApiResult<RouteMatch> find(boost::beast::http::verb method, std::string_view target) const;
  /// The text of a 405's Allow header, such as "GET, HEAD", "POST" or "GET, HEAD, DELETE"; empty for an unknown path.
  std::string allowed_methods(std::string_view target) const;

  /// The text of /openapi.json: a description of all routes.
  std::string description() const;

  /// The body of an error's answer, in the form of the API to which this target belongs.
  std::string error_body(std::string_view target, const ApiError& error) const;

 private:
  bool is_known(std::string_view path) const;
  /// Whether a route has exactly this path, which then does not count as a client's text of another route.
  bool has_spelt_out(std::string_view path) const;

  std::span<const Api> apis_;
  std::vector<RouteRow> rows_;
};

}  // namespace octavo::server
