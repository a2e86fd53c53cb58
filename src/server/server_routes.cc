#include "server/server_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/llama/llama_slots.h"
#include "base/to_size.h"
#include "http/page_policy.h"
#include "json/json_writer.h"
#include "octavo/version.h"
#include "server/chat_page.h"
#include "server/model_metrics.h"
#include "server/ollama_models.h"
#include "server/service_parts.h"

namespace octavo::server {
namespace {

ApiError not_served(std::string_view path, std::string_view option) {
  return {.status = 404,
          .message = fmt::format("there is no {} here: the server was started with {}", path, option),
          .code = "not_found"};
}

/// The reason why no request would be served now, if there is one.
std::optional<ApiError> not_ready(const ServiceParts& parts, Clock::time_point now) {
  const ModelTable& models = parts.models;
  if (models.failure() != nullptr) return engine_failed();
  if (parts.is_leaving || parts.active.is_draining()) return shutting_down();
  if (!models.is_started()) return unavailable("the model is being loaded", "loading");
  const auto has_stalled = [&](const ModelSlot& slot) { return slot.engine() != nullptr && slot.has_stalled(now); };
  for (const ModelSlot& slot : models.slots()) {
    if (slot.engine() == nullptr) continue;
    if (const std::string fault = slot.engine()->stats().fault; !fault.empty())
      return unavailable(fmt::format("the model '{}' is served no more: {}", slot.id(), fault), "device_failed");
  }
  if (std::ranges::any_of(models.slots(), has_stalled))
    return unavailable(fmt::format("the engine has work, but has finished no step for more than {} ms",
                                   parts.options.models.stall_timeout.count()),
                       "stalled");
  return std::nullopt;
}

}  // namespace

HttpResponse show_chat_page(const RouteCall& call) {
  const std::string_view path = call.match.row->path;
  if (!call.parts.options.has_chat_page) return call.parts.responder.error_response(path, not_served(path, "--no-ui"));
  static const std::string policy = policy_of_page(chat_page());
  HttpResponse page{.content_type = "text/html; charset=utf-8", .shared_body = chat_page()};
  page.headers = {{"Cache-Control", "no-cache"},
                  {"Content-Security-Policy", policy},
                  {"X-Frame-Options", "DENY"},
                  {"X-Content-Type-Options", "nosniff"},
                  {"Referrer-Policy", "no-referrer"}};
  return page;
}

// While a model loads, the answer has the words for which programs that start llama.cpp's server wait.
HttpResponse show_health(const RouteCall& call) {
  if (call.parts.models.is_started()) return {.body = json_object("status", "ok")};
  return {.status = 503, .body = R"({"error":{"message":"Loading model","type":"unavailable_error","code":503}})"};
}

HttpResponse show_readiness(const RouteCall& call) {
  if (const auto error = not_ready(call.parts, Clock::now())) return to_response(*error);
  return {.body = json_object("status", "ready")};
}

HttpResponse show_version(const RouteCall&) { return {.body = json_object("version", OCTAVO_VERSION_STRING)}; }

HttpResponse show_ollama_version(const RouteCall&) {
  return {.body = json_object("version", kSpokenVersion, "octavo", OCTAVO_VERSION_STRING)};
}

HttpResponse show_description(const RouteCall& call) { return {.shared_body = call.parts.description}; }

HttpResponse show_metrics(const RouteCall& call) {
  ServiceParts& parts = call.parts;
  Metrics& metrics = parts.metrics;
  std::vector<ModelStats> stats;
  for (const ModelSlot& slot : parts.models.slots()) {
    if (!slot.id().empty()) metrics.of_model(slot.id()).set_loads(slot.num_loads());
    if (slot.engine() != nullptr && !slot.has_failed())
      stats.push_back(
          {slot.id(), slot.engine()->stats(), slot.engine()->info().device, slot.engine()->info().block_size});
  }
  if (parts.files.access_log) metrics.set_dropped_log_lines(parts.files.access_log->num_dropped());
  metrics.set_waiting_to_compile(parts.compiling.num_waiting());
  metrics.set_held_bytes(parts.held.bytes());
  metrics.set_pulled_bytes(parts.puller.written_bytes());
  metrics.set_stored_bytes(parts.responses.num_bytes());
  metrics.set_model_memory(parts.models.memory_taken());
  return {.content_type = std::string(Metrics::kContentType), .body = metrics.text(stats, parts.options.metrics_names)};
}

HttpResponse show_slots(const RouteCall& call) {
  const ServiceParts& parts = call.parts;
  const std::string& model = call.match.argument;
  if (!parts.options.has_slots) return to_response(not_served("/slots", "--no-slots"));
  const ModelSlot* slot = parts.models.find(model);
  if (slot == nullptr) return to_response(parts.models.not_found(model));
  std::vector<RunningAnswer> running = parts.active.running();
  if (!model.empty()) std::erase_if(running, [&](const RunningAnswer& answer) { return answer.model != slot->id(); });
  const std::size_t num_places = slot->model() ? to_size(slot->model()->policy.max_choices) : 0;
  const FreePlace free{.device = slot->info() ? slot->info()->device : "",
                       .max_context = slot->info() ? slot->info()->max_context : 0,
                       .is_drafted = parts.options.engine.draft != DraftMode::kOff};
  const int threads = slot->engine() != nullptr ? slot->engine()->stats().threads : 0;
  return {.body = boost::json::serialize(llama_slots(running, num_places, free, threads))};
}

}  // namespace octavo::server
