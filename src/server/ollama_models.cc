#include "server/ollama_models.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <chrono>
#include <cmath>
#include <string>

#include "api/answers/iso_time.h"
#include "api/ollama/ollama_request.h"
#include "api/prepare/prepare_vectors.h"
#include "base/error.h"
#include "json/json_cursor.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxShownName = 256;

/// A number of weights in ollama's form: "134.52M", "8B", "3.2B".
std::string parameter_size(std::uint64_t num_weights) {
  constexpr double kThousand = 1e3, kMillion = 1e6, kBillion = 1e9;
  const auto count = static_cast<double>(num_weights);
  const auto in = [count](double unit, int digits, char sign) {
    const bool is_whole = std::fmod(count, unit) == 0;
    return fmt::format("{:.{}f}{}", count / unit, is_whole ? 0 : digits, sign);
  };
  if (num_weights == 0) return {};
  if (count >= kBillion) return in(kBillion, 1, 'B');
  if (count >= kMillion) return in(kMillion, 2, 'M');
  return count >= kThousand ? in(kThousand, 0, 'K') : std::to_string(num_weights);
}

json::object details(const ModelInfo& info) {
  return {{"parent_model", ""},
          {"format", info.file.format.empty() ? "gguf" : info.file.format},
          {"family", info.architecture},
          {"families", json::array{info.architecture}},
          {"parameter_size", parameter_size(info.file.num_weights)},
          {"quantization_level", info.file.weight_type}};
}

/// The members that both lists have of a model. A file that was never loaded has no known hash.
json::object entry(const ModelSlot& slot) {
  const ModelInfo* const info = slot.known();
  return {{"name", slot.id()},
          {"model", slot.id()},
          {"size", info != nullptr ? info->weight_bytes : slot.entry().memory_bytes},
          {"digest", info != nullptr ? info->file_hash : ""},
          {"details", details(info != nullptr ? *info : ModelInfo())}};
}

std::string time_of(std::int64_t seconds) {
  return iso_time(std::chrono::system_clock::time_point(std::chrono::seconds(seconds)));
}

std::string time_at(ModelTable::Clock::duration from_now) {
  return iso_time(std::chrono::system_clock::now() + from_now);
}

/// A model's capabilities under ollama's names.
json::array capabilities_of(const ModelInfo& info, const RequestPolicy& policy) {
  json::array capabilities;
  if (writes_text(info, policy)) capabilities.emplace_back("completion");
  if (makes_vectors(info, policy)) capabilities.emplace_back("embedding");
  if (!writes_text(info, policy)) return capabilities;
  if (info.fills_gaps) capabilities.emplace_back("insert");
  if (!info.tool_format.empty()) capabilities.emplace_back("tools");
  if (!info.reasoning.empty()) capabilities.emplace_back("thinking");
  if (info.vision.sees()) capabilities.emplace_back("vision");
  return capabilities;
}

json::object show(const ServedModel& model, const ModelInfo& info) {
  return {{"modelfile", ""},
          {"parameters", fmt::format("{:<30} {}", "num_ctx", info.max_context)},  // as lines of a Modelfile
          {"template", info.chat_template},
          {"modified_at", time_of(model.created)},
          {"details", details(info)},
          {"model_info",
           {{"general.architecture", info.architecture},
            {"general.basename", info.name},
            {"general.parameter_count", info.file.num_weights},
            {info.architecture + ".context_length", info.max_context},
            {info.architecture + ".block_count", info.num_layers},
            {info.architecture + ".embedding_length", info.embedding.width}}},
          {"capabilities", capabilities_of(info, model.policy)}};
}

}  // namespace

json::object ollama_tags(const std::list<ModelSlot>& models, const RequestPolicy& policy) {
  json::array list;
  for (const ModelSlot& slot : models) {
    if (slot.is_removed()) continue;
    json::object listed = entry(slot);
    listed["modified_at"] = time_of(slot.created());
    if (const ModelInfo* known = slot.known(); known != nullptr)
      listed["capabilities"] = capabilities_of(*known, policy);
    list.push_back(std::move(listed));
  }
  return {{"models", std::move(list)}};
}

json::object ollama_running(const ModelTable& models, ModelTable::Clock::time_point now) {
  json::array list;
  for (const ModelSlot& slot : models.slots()) {
    if (slot.engine() == nullptr || !slot.info()) continue;
    json::object running = entry(slot);
    const auto expiry = models.expiry(slot, now);
    running["expires_at"] = expiry ? time_at(*expiry - now) : "9999-12-31T23:59:59Z";
    running["size_vram"] = 0;
    running["context_length"] = slot.info()->max_context;
    list.push_back(std::move(running));
  }
  return {{"models", std::move(list)}};
}

ApiResult<json::object> ollama_show(const json::object& body, const ServedModel& model, const ModelInfo& info) {
  std::string_view name;
  for (const std::string_view field : {"name", "model"}) {
    OCTAVO_TRY(const auto given, to_api_result(JsonCursor(body)[field].string()));
    name = given.value_or(name);
  }
  if (!model.answers_to(without_latest(name)))
    return std::unexpected(
        ApiError{.status = 404,
                 .message = fmt::format("there is no model '{}', only '{}'", name.substr(0, kMaxShownName), model.id),
                 .param = "model",
                 .code = "model_not_found"});
  return show(model, info);
}

}  // namespace octavo::server
