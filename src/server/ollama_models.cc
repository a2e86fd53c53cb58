#include "server/ollama_models.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <chrono>
#include <string>

#include "base/error.h"
#include "server/iso_time.h"
#include "server/json_fields.h"
#include "server/ollama_request.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxShownName = 256;

json::object details(const ModelInfo& info) {
  return {{"parent_model", ""},          {"format", "gguf"},
          {"family", info.architecture}, {"families", json::array{info.architecture}},
          {"parameter_size", ""},        {"quantization_level", ""}};
}

/// What both lists tell of a model.
json::object entry(const ServedModel& model, const ModelInfo& info) {
  return {{"name", model.id},
          {"model", model.id},
          {"size", info.weight_bytes},
          {"digest", info.file_hash},
          {"details", details(info)}};
}

std::string time_of(std::int64_t seconds) {
  return iso_time(std::chrono::system_clock::time_point(std::chrono::seconds(seconds)));
}

json::object show(const ServedModel& model, const ModelInfo& info) {
  json::array capabilities{"completion"};
  if (info.fills_gaps) capabilities.emplace_back("insert");
  if (!info.tool_format.empty()) capabilities.emplace_back("tools");
  if (!info.reasoning.empty()) capabilities.emplace_back("thinking");
  return {{"modelfile", ""},
          {"parameters", ""},
          {"template", info.chat_template},
          {"modified_at", time_of(model.created)},
          {"details", details(info)},
          {"model_info",
           {{"general.architecture", info.architecture},
            {"general.basename", info.name},
            {info.architecture + ".context_length", info.max_context},
            {info.architecture + ".block_count", info.num_layers}}},
          {"capabilities", std::move(capabilities)}};
}

}  // namespace

json::object ollama_tags(const ServedModel& model, const ModelInfo& info) {
  json::object listed = entry(model, info);
  listed["modified_at"] = time_of(model.created);
  return {{"models", json::array{std::move(listed)}}};
}

json::object ollama_running(const ServedModel& model, const ModelInfo& info) {
  json::object running = entry(model, info);
  running["expires_at"] = "9999-12-31T23:59:59Z";
  running["size_vram"] = 0;
  running["context_length"] = info.max_context;
  return {{"models", json::array{std::move(running)}}};
}

ApiResult<json::object> answer_ollama_show(std::string_view body, const JsonLimits& limits, const ServedModel& model,
                                           const ModelInfo& info) {
  if (body.size() > kMaxShowBytes)
    return std::unexpected(ApiError{.status = 413,
                                    .message = fmt::format("found {} bytes, expected at most {}: the name of a model",
                                                           body.size(), kMaxShowBytes)});
  OCTAVO_TRY(const json::object object, parse_json_object(body, limits));
  JsonFields fields(object);
  std::string_view name;
  for (const std::string_view field : {"name", "model"}) name = fields.string(field).value_or(name);
  if (fields.failed()) return std::unexpected(*fields.error());
  if (!name.empty() && !model.answers_to(without_latest(name)))
    return std::unexpected(
        ApiError{.status = 404,
                 .message = fmt::format("there is no model '{}', only '{}'", name.substr(0, kMaxShownName), model.id),
                 .param = "model",
                 .code = "model_not_found"});
  return show(model, info);
}

}  // namespace octavo::server
