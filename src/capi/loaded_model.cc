#include "capi/loaded_model.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "api/call/settings_fingerprint.h"
#include "api/call/text.h"
#include "base/started_thread.h"
#include "capi/call.h"
#include "cli/options/options.h"
#include "cli/options/sampling_options.h"
#include "octavo/resources.h"

namespace octavo::capi {
namespace {

ServedModel served_model(const Engine& engine, const LibraryOptions& options) {
  const cli::ServeOptions& serve = options.serve();
  ServedModel model = ServedModel::of(engine.info());
  model.created = std::time(nullptr);
  model.sampling_defaults = engine.text()->default_sampling({});
  cli::apply_sampling(serve.models.sampling, model.sampling_defaults);
  model.takes_any_name = true;
  model.policy = serve.server.requests;
  model.policy.max_choices = std::min(kMaxChoices, serve.server.engine.max_sequences);
  model.settings = settings_fingerprint(model, engine.info());
  return model;
}

}  // namespace

CallResult<std::shared_ptr<LoadedModel>> LoadedModel::load(const octavo_load_options& asked,
                                                           const std::shared_ptr<LoadedModel>& shares,
                                                           const std::stop_token& stop) {
  const auto told = [&stop](const Error& error) {
    return std::unexpected(stop.stop_requested() ? CallError::of(OCTAVO_STOPPED, "loading was stopped")
                                                 : CallError::of(error));
  };
  auto options = LibraryOptions::read(asked);
  if (!options) return told(options.error());
  EngineOptions& engine = (*options)->serve().server.engine;
  engine.require_words = false;
  std::shared_ptr<Resources> resources = shares ? shares->resources_ : nullptr;
  if (!resources) {
    auto own = Resources::create({.num_threads = std::exchange(engine.num_threads, 0)});
    if (!own) return told(own.error());
    resources = std::move(*own);
  }
  engine.resources = resources;
  engine.stop = stop;
  auto loaded = cli::load_engine(engine, asked.model == nullptr ? "" : asked.model, (*options)->context());
  if (!loaded) return told(loaded.error());
  std::shared_ptr<LoadedModel> model(
      new LoadedModel(std::move(*options), std::move(resources), std::move(*loaded), asked.is_driven != 0));
  if (!model->is_driven_)
    model->thread_ = start_thread([raw = model.get()](const std::stop_token& ended) { raw->drive(ended); },
                                  [raw = model.get()](const Error&) { raw->fail(); });
  return model;
}

LoadedModel::LoadedModel(std::unique_ptr<LibraryOptions> options, std::shared_ptr<Resources> resources,
                         std::unique_ptr<Engine> engine, bool is_driven)
    : options_(std::move(options)),
      resources_(std::move(resources)),
      engine_(std::move(engine)),
      served_(served_model(*engine_, *options_)),
      is_driven_(is_driven),
      held_({.answer_bytes = served_.policy.max_answer_bytes,
             .all_bytes = options_->serve().server.answers.max_held_bytes}) {}

LoadedModel::~LoadedModel() = default;

void LoadedModel::drive(const std::stop_token& stop) {
  try {
    engine_->run_until(stop);
  } catch (const std::exception&) {
    fail();
  }
}

void LoadedModel::fail() {
  has_failed_ = true;
  for (const std::shared_ptr<Call>& call : calls_.all()) call->abort();
}

CallResult<bool> LoadedModel::step() {
  if (!is_driven_)
    return std::unexpected(CallError::of(
        OCTAVO_INVALID, "found a model that a thread of the library drives, expected one loaded with is_driven"));
  if (has_failed_) return std::unexpected(CallError::of(engine_failed()));
  try {
    return engine_->step();
  } catch (const std::exception& error) {
    fail();
    return std::unexpected(CallError::of(OCTAVO_FAILED, error.what()));
  }
}

void LoadedModel::keep_pins(std::uint64_t call, std::vector<RequestId> requests) {
  const std::lock_guard lock(pins_mutex_);
  pins_.emplace(call, std::move(requests));
}

void LoadedModel::give_back_pins(std::uint64_t call) {
  decltype(pins_)::node_type pins;
  {
    const std::lock_guard lock(pins_mutex_);
    pins = pins_.extract(call);
  }
  if (pins.empty() || has_failed_) return;
  for (const RequestId request : pins.mapped()) engine_->cancel(request);
}

// Calls that are cancelled while the engine's thread is inside a step would end in its next step, which does not come:
// they are cancelled once more when that thread has ended.
void LoadedModel::close() {
  is_closed_ = true;
  stop_.request_stop();
  cancel_all();
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (!has_failed_) cancel_all();
}

void LoadedModel::abandon() {
  is_closed_ = true;
  stop_.request_stop();
  thread_.request_stop();
}

void LoadedModel::cancel_all() {
  for (const std::shared_ptr<Call>& call : calls_.all()) call->cancel();
  const std::lock_guard lock(guests_mutex_);
  for (const auto& [guest, end] : guests_) end();
}

void LoadedModel::add_guest(const void* guest, std::function<void()> end) {
  const std::lock_guard lock(guests_mutex_);
  guests_.emplace(guest, std::move(end));
}

void LoadedModel::remove_guest(const void* guest) {
  const std::lock_guard lock(guests_mutex_);
  guests_.erase(guest);
}

}  // namespace octavo::capi
