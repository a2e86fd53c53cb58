#include "server/slot_actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "api/call/api_error.h"
#include "base/error.h"
#include "json/json_cursor.h"
#include "json/json_document.h"
#include "json/json_writer.h"
#include "server/query.h"
#include "server/service_parts.h"

namespace octavo::server {
namespace {

constexpr std::string_view kActions[] = {"save", "restore", "erase"};
constexpr std::size_t kMaxBodyBytes = 4096;

ApiError not_served(std::string_view why) {
  return {.status = 400,
          .message = fmt::format("there is nothing to do for slots here: the server was started {}", why),
          .code = "not_supported"};
}

ApiResult<int> read_number(std::string_view text, int num_places) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0 && number < num_places) return number;
  return std::unexpected(invalid_value(
      "id", fmt::format("id: found '{}', expected the number of a slot, 0 to {}", text.substr(0, 32), num_places - 1)));
}

/// The name of the file that llama.cpp would read or write. Nothing is read or written here.
ApiResult<std::string> read_file_name(std::string_view body) {
  OCTAVO_TRY(const boost::json::object read,
             to_api_result(parse_json_object(body.empty() ? "{}" : body, {.max_bytes = kMaxBodyBytes})));
  OCTAVO_TRY(const auto name, to_api_result(JsonCursor(read)["filename"].string()));
  return std::string(name.value_or(""));
}

ApiResult<std::string> answer(const RouteCall& call) {
  const ServiceParts& parts = call.parts;
  if (!parts.options.has_slots) return std::unexpected(not_served("with --no-slots"));
  const ModelSlot* model = parts.models.find("");
  if (model == nullptr) return std::unexpected(parts.models.not_found(""));
  if (model->engine() == nullptr || !model->model())
    return std::unexpected(unavailable("the model is not loaded", "loading"));
  OCTAVO_TRY(const int id, read_number(call.match.argument, model->model()->policy.max_choices));
  const std::string_view action = query_value(call.exchange.request.target(), "action").value_or("");
  if (std::ranges::find(kActions, action) == std::end(kActions))
    return std::unexpected(invalid_value(
        "action", fmt::format("action: found '{}', expected save, restore or erase", action.substr(0, 32))));
  OCTAVO_TRY(const std::string file, read_file_name(call.exchange.request.body()));
  if (parts.options.engine.kv_store.folder.empty()) return std::unexpected(not_served("without --kv-store"));
  if (action == "erase") return json_object("id_slot", id, "n_erased", 0);
  const std::uint64_t bytes = model->engine()->stats().kv_store.bytes;
  const std::uint64_t tokens = bytes / std::max<std::uint64_t>(1, model->engine()->info().kv_bytes_per_token);
  std::string body;
  JsonWriter json(body);
  json.begin_object().fields("id_slot", id, "filename", file);
  action == "save" ? json.fields("n_saved", tokens, "n_written", bytes)
                   : json.fields("n_restored", tokens, "n_read", bytes);
  json.key("timings").object(action == "save" ? "save_ms" : "restore_ms", 0);
  json.end_object();
  return body;
}

}  // namespace

HttpResponse act_on_slot(const RouteCall& call) {
  ApiResult<std::string> answered = answer(call);
  return answered ? HttpResponse{.body = std::move(*answered)} : to_response(answered.error());
}

}  // namespace octavo::server
