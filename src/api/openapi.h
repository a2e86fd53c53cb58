// The description of what a server answers, as OpenAPI 3.1: made from the rows that requests are read by, those of the
// APIs and those of all other routes.
//
// Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/api.h"
#include "api/call/api_field.h"

namespace octavo {

/// The description of a route.
struct RouteText {
  std::string_view summary = {};
  ApiFields (*fields)() = nullptr;                     // the fields of its body; null: it takes none
  FieldTable query = {};                               // its parameters, behind the question mark
  std::string_view content_type = "application/json";  // the content type of its 200; empty: it has errors alone
  std::string_view stream_type = {};                   // the content type of an answer in parts; empty: there are none
  std::span<const int> statuses = {};                  // the statuses of its errors, besides those that every route has
  bool has_own_errors = false;                         // its errors have a form that no other route's have
};

struct DescribedRoute {
  std::string_view path;    // "{id}" stands for a text of the client
  std::string_view method;  // in OpenAPI's spelling, such as "get"
  bool needs_key = false;
  RouteText text = {};
};

/// The description as JSON. `others`: the routes that are of no API.
std::string openapi_document(std::span<const Api> apis, std::span<const DescribedRoute> others);

}  // namespace octavo
