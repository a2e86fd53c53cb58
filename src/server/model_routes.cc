#include "server/model_routes.h"

#include <fmt/format.h>

#include "api/call/api_error.h"
#include "api/llama/llama_props.h"
#include "api/vectors/tei_info.h"
#include "base/error.h"
#include "server/ollama_models.h"
#include "server/openai_models.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

bool is_running(const ModelSlot& slot) {
  return slot.state() == ModelSlot::State::kServing || slot.state() == ModelSlot::State::kLoading;
}

ApiResult<void> unload(ModelSlot& slot, ModelTable& models, const std::string& owner,
                       ModelTable::Clock::time_point now) {
  if (!is_running(slot))
    return std::unexpected(invalid_value("model", fmt::format("the model '{}' is not running", slot.id())));
  OCTAVO_TRY(const bool goes, models.unload(slot, owner, now));
  if (goes) return {};
  return std::unexpected(
      ApiError{.status = 409, .message = model_stays(slot.id()), .param = "model", .code = "model_in_use"});
}

}  // namespace

ApiResult<json::object> answer_model_get(const RouteMatch& match, ModelTable& models,
                                         ModelTable::Clock::time_point now) {
  if (match.route == Route::kOllamaTags) return ollama_tags(models.slots(), models.policy());
  if (match.route == Route::kOllamaRunning) return ollama_running(models, now);
  if (match.route == Route::kModels) return openai_models(models.slots(), models.policy());
  const ModelSlot* slot = models.find(match.argument, match.route == Route::kTeiInfo ? has_tei_type : nullptr);
  if (slot == nullptr) return std::unexpected(models.not_found(match.argument));
  if (match.route == Route::kModel) return openai_model(*slot, models.policy());
  if (match.route == Route::kTeiInfo && slot->known() != nullptr)
    return tei_info(slot->id(), *slot->known(), models.policy());
  if (!slot->model()) return std::unexpected(unavailable("the model is not loaded", "loading"));
  return llama_props(*slot->model(), *slot->info());
}

std::string model_stays(std::string_view id) {
  return fmt::format(
      "the model '{}' stays in memory, as other clients have used it within the time that they want it "
      "kept; it is no longer kept for this one",
      id);
}

ApiError model_body_too_large(std::size_t num_bytes) {
  return {.status = 413,
          .message =
              fmt::format("found {} bytes, expected at most {}: the name of a model", num_bytes, kMaxModelBodyBytes)};
}

ApiResult<json::object> answer_model_post(Route route, const BodyResult& body, ModelTable& models,
                                          const std::string& owner, ModelTable::Clock::time_point now) {
  if (const auto* about = std::get_if<NothingToCompute>(&body)) {
    const bool loads = route == Route::kLoadModel;
    OCTAVO_TRY_VOID(loads ? models.preload(*about->slot, owner, now) : unload(*about->slot, models, owner, now));
    return json::object{{"success", true}};
  }
  const auto& read = std::get<AddressedBody>(body);
  return ollama_show(read.object, read.model.model(), read.model.engine().info());
}

}  // namespace octavo::server
