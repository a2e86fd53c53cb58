#include "server/response_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "api/call/api_error.h"
#include "base/error.h"
#include "base/to_size.h"
#include "json/json_writer.h"
#include "server/query.h"
#include "server/service_parts.h"

namespace octavo::server {
namespace {

constexpr int kDefaultItems = 20, kMaxItems = 100;  // on one page, as in OpenAI's API

struct Page {
  bool is_ascending = false;
  std::size_t limit = kDefaultItems;
  std::string_view after = {};  // the id of the item before the first one; empty: start at the first
};

ApiResult<Page> read_page(std::string_view target) {
  Page page;
  if (const auto order = query_value(target, "order")) {
    if (*order != "asc" && *order != "desc")
      return std::unexpected(invalid_value("order", fmt::format("order: found '{}', expected asc or desc", *order)));
    page.is_ascending = *order == "asc";
  }
  if (const auto limit = query_value(target, "limit")) {
    int number = 0;
    const auto [end, error] = std::from_chars(limit->data(), limit->data() + limit->size(), number);
    if (error != std::errc() || end != limit->data() + limit->size() || number < 1 || number > kMaxItems)
      return std::unexpected(
          invalid_value("limit", fmt::format("limit: found '{}', expected 1 to {}", *limit, kMaxItems)));
    page.limit = to_size(number);
  }
  page.after = query_value(target, "after").value_or("");
  return page;
}

ApiResult<std::string> list_items(std::vector<const ResponseItem*> items, const Page& page) {
  if (!page.is_ascending) std::ranges::reverse(items);
  std::span<const ResponseItem* const> rest = items;
  if (!page.after.empty()) {
    const auto found = std::ranges::find(rest, page.after, [](const ResponseItem* item) { return item->id; });
    if (found == rest.end())
      return std::unexpected(
          invalid_value("after", fmt::format("after: there is no item '{}'", page.after.substr(0, 64))));
    rest = rest.subspan(to_size(found - rest.begin()) + 1);
  }
  const bool has_more = rest.size() > page.limit;
  rest = rest.first(std::min(rest.size(), page.limit));
  std::string out;
  JsonWriter json(out);
  json.begin_object().fields("object", "list").key("data").begin_array();
  for (const ResponseItem* item : rest) json.raw(*item->json);
  const auto id_of = [](const ResponseItem* item) { return std::optional<std::string_view>(item->id); };
  json.end_array()
      .fields("first_id", rest.empty() ? std::nullopt : id_of(rest.front()), "last_id",
              rest.empty() ? std::nullopt : id_of(rest.back()), "has_more", has_more)
      .end_object();
  return out;
}

HttpResponse told(ApiResult<std::string> body) {
  return body ? HttpResponse{.body = std::move(*body)} : to_response(body.error());
}

/// Answers with what `tell` gives about the response that the path names.
template <class Tell>
HttpResponse about_response(const RouteCall& call, const Tell& tell) {
  const std::string& id = call.match.argument;
  const ResponseStore::Response response = call.parts.responses.find(call.exchange.key.name, id);
  return response == nullptr ? to_response(no_response(id, "id")) : told(tell(*response));
}

}  // namespace

HttpResponse show_response(const RouteCall& call) {
  return about_response(call, [&](const StoredResponse& response) -> ApiResult<std::string> {
    if (query_value(call.exchange.request.target(), "stream") == "true")
      return std::unexpected(unsupported("stream", "stream: a response that is kept has ended, and is told whole"));
    return response.body();
  });
}

HttpResponse delete_response(const RouteCall& call) {
  const std::string& id = call.match.argument;
  if (!call.parts.responses.erase(call.exchange.key.name, id)) return to_response(no_response(id, "id"));
  return {.body = json_object("id", id, "object", "response", "deleted", true)};
}

HttpResponse list_response_input(const RouteCall& call) {
  return about_response(call, [&](const StoredResponse& response) -> ApiResult<std::string> {
    OCTAVO_TRY(const Page page, read_page(call.exchange.request.target()));
    std::vector<const ResponseItem*> items;
    items.reserve(response.input.size());
    for (const ResponseItem& item : response.input) items.push_back(&item);
    return list_items(std::move(items), page);
  });
}

}  // namespace octavo::server
