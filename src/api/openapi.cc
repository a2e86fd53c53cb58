#include "api/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <vector>

#include "api/openapi_schema.h"
#include "octavo/version.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::string_view kAbout =
    "A field that is null counts as not given, and one that is not described is ignored. x-octavo-use says what "
    "becomes "
    "of a field: it is honoured, a hint, ignored with a warning, or refused. Every path is found with /v1 in front and "
    "without it. A server that was started with keys wants one where security says so.";

struct StatusText {
  int status;
  std::string_view text;
};
constexpr StatusText kStatuses[] = {
    {400, "The request is wrong; the error names the field."},
    {401, "No valid API key was given."},
    {403, "The host, the page or the key may not ask for this."},
    {404, "There is no such model, or the server does not offer this."},
    {408, "The request did not come, or its answer was not done, in time."},
    {409, "Others use the model."},
    {413, "The body is too large."},
    {429, "Too many requests wait; Retry-After says when to come again."},
    {431, "The header is too large."},
    {500, "The server failed."},
    {501, "No model here can do this."},
    {502, "The hub did not give the model."},
    {503, "The server is loading, full or shutting down; Retry-After says when to come again."},
    {507, "There is no room for the model."},
};
constexpr int kEveryRoutes[] = {400, 403, 408, 431, 500, 503};
constexpr int kAnswers[] = {404, 429, 501};
constexpr int kCounts[] = {404, 429};
constexpr std::string_view kError = "error";  // the form of errors that are of no API's

/// An id such as "post_v1_chat_completions".
std::string operation_id(std::string_view method, std::string_view path) {
  std::string id(method);
  for (const char c : path) {
    if (c == '/' || c == '-' || c == '.') {
      if (id.back() != '_') id += '_';
    } else if (c != '{' && c != '}') {
      id += c;
    }
  }
  return id;
}

json::object reference(std::string_view schema) { return {{"$ref", fmt::format("#/components/schemas/{}", schema)}}; }

/// The media type without parameters: "application/json" of "application/json; charset=utf-8".
std::string_view media_type(std::string_view content_type) { return content_type.substr(0, content_type.find(';')); }

/// The schema of an answer: any JSON object or array, or a text. The events of a stream are not described, as OpenAPI
/// 3.1 has no word for them.
json::object content_of(std::string_view content_type) {
  json::object schema;
  const std::string_view type = media_type(content_type);
  if (type == "application/json") schema["type"] = {"object", "array"};
  if (type.starts_with("text/") && type != "text/event-stream") schema["type"] = "string";
  return {{"schema", std::move(schema)}};
}

json::object schema_of_errors(WriteError error_body) {
  const ApiError full{.status = 400, .message = "m", .param = "p", .code = "c"}, bare{.status = 400, .message = "m"};
  boost::system::error_code wrong;
  const json::value first = json::parse(error_body(full), wrong);
  const json::value second = wrong ? json::value() : json::parse(error_body(bare), wrong);
  return wrong ? json::object() : schema_of_answers(first, second);
}

class Document {
 public:
  explicit Document(std::span<const Api> apis) : apis_(apis) {
    schemas_[kError] = schema_of_errors(error_body);
    for (const Api& api : apis) add_api(api);
  }

  /// Adds a route. `body`: the name of its schema; empty: it takes none. `example`: a body in JSON, or empty.
  void add(const DescribedRoute& route, std::string_view tag, std::string_view body, std::string_view example = {}) {
    const RouteText& text = route.text;
    json::object operation = {
        {"operationId", operation_id(route.method, route.path)}, {"summary", text.summary}, {"tags", json::array{tag}}};
    if (json::array parameters = parameters_of(route); !parameters.empty())
      operation["parameters"] = std::move(parameters);
    if (!body.empty()) {
      json::object content = {{"schema", reference(body)}};
      if (!example.empty()) content["example"] = json::parse(example);
      operation["requestBody"] = {{"required", true}, {"content", {{"application/json", std::move(content)}}}};
    }
    if (route.needs_key)
      operation["security"] = {{{"bearer", json::array()}}, {{"key", json::array()}}, json::object()};
    operation["responses"] = responses_of(route, !body.empty());
    json::value& path = paths_[route.path];
    if (!path.is_object()) path = json::object();
    path.get_object()[route.method] = std::move(operation);
  }

  void add_other(const DescribedRoute& route) {
    std::string body;
    if (route.text.fields != nullptr) {
      body = operation_id(route.method, route.path);
      schemas_[body] = schema_of_fields(route.text.fields());
    }
    add(route, "server", body);
  }

  std::string text() && {
    const json::object document = {
        {"openapi", "3.1.0"},
        {"info", {{"title", "Octavo"}, {"description", kAbout}, {"version", OCTAVO_VERSION_STRING}}},
        {"paths", std::move(paths_)},
        {"components",
         {{"schemas", std::move(schemas_)},
          {"securitySchemes",
           {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
            {"key", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-Api-Key"}}}}}}}};
    return json::serialize(document);
  }

 private:
  void add_api(const Api& api) {
    schemas_[api.name] = schema_of_fields(api.fields());
    schemas_[fmt::format("{}_error", api.name)] = schema_of_errors(api.error_body);
    for (const std::string_view path : api.paths)
      if (!path.empty())
        add({.path = path,
             .method = "post",
             .needs_key = true,
             .text = {.summary = api.summary, .stream_type = api.stream_type, .statuses = kAnswers}},
            api.name, api.name, api.example);
    if (!api.rendered.path.empty())
      add({.path = api.rendered.path,
           .method = "post",
           .needs_key = true,
           .text = {.summary = "The tokens of the prompt that such a body would make, and what it would ask for",
                    .statuses = kAnswers}},
          api.name, api.name, api.example);
    if (api.counted.path.empty()) return;
    const std::string counted = fmt::format("{}_counted", api.name);
    schemas_[counted] = schema_of_fields(api.counted.fields());
    add({.path = api.counted.path,
         .method = "post",
         .needs_key = true,
         .text = {.summary = "Counts the tokens of the prompt that such a body would make", .statuses = kCounts}},
        api.name, counted, api.example);
  }

  /// The name of the form that a path's errors have.
  std::string errors_of(std::string_view path) const {
    const auto api = std::ranges::find(apis_, error_form(apis_, path), &Api::error_body);
    return api == apis_.end() ? std::string(kError) : fmt::format("{}_error", api->name);
  }

  json::object responses_of(const DescribedRoute& route, bool has_body) const {
    json::object responses;
    if (!route.text.content_type.empty()) {
      json::object content = {{media_type(route.text.content_type), content_of(route.text.content_type)}};
      if (!route.text.stream_type.empty())
        content[media_type(route.text.stream_type)] = content_of(route.text.stream_type);
      responses["200"] = {{"description", "The answer."}, {"content", std::move(content)}};
    }
    const json::object errors = route.text.has_own_errors ? content_of("application/json")
                                                          : json::object{{"schema", reference(errors_of(route.path))}};
    std::vector<int> statuses(std::begin(kEveryRoutes), std::end(kEveryRoutes));
    if (route.needs_key) statuses.push_back(401);
    if (has_body) statuses.push_back(413);
    statuses.insert(statuses.end(), route.text.statuses.begin(), route.text.statuses.end());
    for (const StatusText& row : kStatuses)
      if (std::ranges::find(statuses, row.status) != statuses.end())
        responses[std::to_string(row.status)] = {{"description", row.text},
                                                 {"content", {{"application/json", errors}}}};
    return responses;
  }

  static json::array parameters_of(const DescribedRoute& route) {
    json::array parameters;
    const std::size_t begin = route.path.find('{'), end = route.path.find('}');
    if (begin != std::string_view::npos)
      parameters.push_back({{"name", route.path.substr(begin + 1, end - begin - 1)},
                            {"in", "path"},
                            {"required", true},
                            {"schema", {{"type", "string"}, {"minLength", 1}}}});
    for (ApiField field : route.text.query) {
      field.is_needed = true;  // a query has no null: a parameter that is given has a value
      parameters.push_back({{"name", field.path}, {"in", "query"}, {"schema", schema_of_field(field)}});
    }
    return parameters;
  }

  std::span<const Api> apis_;
  json::object paths_ = {}, schemas_ = {};
};

}  // namespace

std::string openapi_document(std::span<const Api> apis, std::span<const DescribedRoute> others) {
  Document document(apis);
  for (const DescribedRoute& route : others) document.add_other(route);
  return std::move(document).text();
}

}  // namespace octavo
