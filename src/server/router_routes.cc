#include "server/router_routes.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>
#include <limits>

#include "api/answers/iso_time.h"
#include "api/prepare/prepare_vectors.h"
#include "base/utf8.h"
#include "octavo/version.h"
#include "server/load_report.h"
#include "server/model_metrics.h"
#include "server/query.h"
#include "server/service_parts.h"

namespace octavo::server {
namespace {

namespace json = boost::json;

/// The longest prompt whose wait is predicted.
constexpr std::uint64_t kMaxLength = std::numeric_limits<int>::max();

ApiResult<const ModelSlot*> slot_of(const RouteCall& call) {
  ModelTable& models = call.parts.models;
  const ModelSlot* slot = models.find(call.match.argument);
  if (slot == nullptr) return std::unexpected(models.not_found(call.match.argument));
  return slot;
}

/// The slot of a model that is in memory.
ApiResult<const ModelSlot*> loaded_slot_of(const RouteCall& call) {
  OCTAVO_TRY(const ModelSlot* slot, slot_of(call));
  if (slot->engine() == nullptr || !slot->info() || slot->has_failed())
    return std::unexpected(unavailable("the model is not loaded", "loading"));
  return slot;
}

/// The length that the query names; 0: none.
ApiResult<std::uint64_t> length_of(std::string_view target) {
  const auto given = query_value(target, "prompt_tokens");
  if (!given) return std::uint64_t{0};
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), length);
  if (error != std::errc() || end != given->data() + given->size() || length < 1 || length > kMaxLength)
    return std::unexpected(invalid_value(
        "prompt_tokens",
        fmt::format("prompt_tokens: found '{}', expected 1 to {}", to_valid_utf8(given->substr(0, 64)), kMaxLength)));
  return length;
}

LoadReport load_of(const ServiceParts& parts, const ModelSlot& slot, const EngineStats& stats) {
  return {.info = *slot.info(), .stats = stats, .max_running = parts.options.engine.max_sequences};
}

ApiResult<json::object> server_info(const RouteCall& call) {
  OCTAVO_TRY(const ModelSlot* slot, loaded_slot_of(call));
  const EngineStats stats = slot->engine()->stats();
  const ModelInfo& info = *slot->info();
  const LoadReport load = load_of(call.parts, *slot, stats);
  return json::object{{"model_path", to_valid_utf8(info.file_name)},
                      {"served_model_name", slot->id()},
                      {"version", OCTAVO_VERSION_STRING},
                      {"system_fingerprint", info.fingerprint},
                      {"tp_size", 1},
                      {"dp_size", 1},
                      {"pp_size", 1},
                      {"is_embedding", !writes_text(info, call.parts.models.policy())},
                      {"context_length", info.max_context},
                      {"max_total_tokens", load.max_tokens()},
                      {"max_total_num_tokens", load.max_tokens()},
                      {"max_running_requests", load.max_running},
                      {"block_size", info.block_size},
                      {"page_size", info.block_size}};
}

ApiResult<json::object> model_info(const RouteCall& call) {
  OCTAVO_TRY(const ModelSlot* slot, slot_of(call));
  const ModelInfo* info = slot->known();
  if (info == nullptr) return std::unexpected(unavailable("the model is not loaded", "loading"));
  return json::object{{"model_path", to_valid_utf8(info->file_name)},
                      {"tokenizer_path", to_valid_utf8(info->file_name)},
                      {"served_model_name", slot->id()},
                      {"is_generation", writes_text(*info, call.parts.models.policy())},
                      {"has_image_understanding", info->vision.sees()},
                      {"has_audio_understanding", false},
                      {"model_type", to_valid_utf8(info->architecture)},
                      {"architectures", json::array{to_valid_utf8(info->architecture)}},
                      {"max_model_len", info->max_context}};
}

HttpResponse told(const ApiResult<json::object>& answered) {
  return answered ? HttpResponse{.body = json::serialize(*answered)} : to_response(answered.error());
}

}  // namespace

HttpResponse show_server_info(const RouteCall& call) { return told(server_info(call)); }

HttpResponse show_model_info(const RouteCall& call) { return told(model_info(call)); }

HttpResponse show_loads(const RouteCall& call) {
  const auto slot = loaded_slot_of(call);
  if (!slot) return to_response(slot.error());
  const auto length = length_of(call.exchange.request.target());
  if (!length) return to_response(length.error());
  const EngineStats stats = (*slot)->engine()->stats();
  LoadReport load = load_of(call.parts, **slot, stats);
  load.tokens_per_s = call.parts.metrics.of_model((*slot)->id()).tokens_per_s();
  const std::span<const std::uint64_t> asked(&*length, 1), usual = kPredictedLengths;
  return {.body = loads_json(load, *length > 0 ? asked : usual, iso_time(std::chrono::system_clock::now()))};
}

}  // namespace octavo::server
