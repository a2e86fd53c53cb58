// The description of what a server answers, as OpenAPI 3.1 has it: made from the rows that requests are read by, those
// of the APIs and those of the routes that are of none.
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
  ApiFields (*fields)() = nullptr;                     // of its body; null: it takes none
  FieldTable query = {};                               // the parameters behind the question mark
  std::string_view content_type = "application/json";  // of its 200; empty: it has errors alone
  std::string_view stream_type = {};                   // and of one that comes in parts; empty: none does
  std::span<const int> statuses = {};                  // of errors, beside those that every route has
  bool has_own_errors = false;                         // in a form that no other route has
};

struct DescribedRoute {
  std::string_view path;    // "{id}" stands for a client's text
  std::string_view method;  // in OpenAPI's spelling: "get"
  bool needs_key = false;
  RouteText text = {};
};

/// The JSON. `others`: the routes beside those of the APIs.
std::string openapi_document(std::span<const Api> apis, std::span<const DescribedRoute> others);

}  // namespace octavo
