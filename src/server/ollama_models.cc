#include "server/ollama_models.h"

#include <boost/json/array.hpp>
#include <chrono>
#include <string>

#include "server/iso_time.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

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

json::object ollama_show(const ServedModel& model, const ModelInfo& info) {
  json::array capabilities{"completion"};
  if (!info.tool_format.empty()) capabilities.emplace_back("tools");
  if (!info.reasoning.empty()) capabilities.emplace_back("thinking");
  return {{"modelfile", ""},
          {"parameters", ""},
          {"template", ""},
          {"modified_at", time_of(model.created)},
          {"details", details(info)},
          {"model_info",
           {{"general.architecture", info.architecture},
            {"general.basename", info.name},
            {info.architecture + ".context_length", info.max_context},
            {info.architecture + ".block_count", info.num_layers}}},
          {"capabilities", std::move(capabilities)}};
}

}  // namespace octavo::server
