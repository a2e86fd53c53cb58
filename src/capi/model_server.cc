#include "capi/model_server.h"

#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/started_thread.h"
#include "capi/shared_engine.h"
#include "server/model_slot.h"
#include "server/server_files.h"

namespace octavo::capi {
namespace {

/// The only model of a server. Where it is given no names, or "*" among them, it answers to every name.
server::ModelEntry entry_of(const std::shared_ptr<LoadedModel>& model, std::vector<std::string> names) {
  server::ModelEntry entry;
  entry.load = [model](const std::stop_token&) -> Result<std::unique_ptr<Engine>> {
    return std::make_unique<SharedEngine>(model);
  };
  entry.is_loaded_at_start = true;
  entry.takes_any_name = names.empty() || server::take_any_name(names);
  entry.names = std::move(names);
  entry.set_sampling = [sampling = model->served().sampling_defaults](SamplingParams& params) { params = sampling; };
  return entry;
}

/// How a server's start went: it is ready, or it ended before that.
struct Start {
  std::promise<Result<void>> told = {};
  std::once_flag once = {};

  void tell(const Result<void>& how) {
    std::call_once(once, [&] { told.set_value(how); });
  }
};

}  // namespace

CallResult<std::shared_ptr<ModelServer>> ModelServer::start(const std::shared_ptr<LoadedModel>& model,
                                                            std::span<const char* const> words) {
  const auto told = [](const Error& error) { return std::unexpected(CallError::of(error)); };
  if (model->is_driven())
    return std::unexpected(CallError::of(
        OCTAVO_INVALID, "found a model that its caller drives, expected one that a thread of the library drives"));
  auto options = LibraryOptions::read_of_server(words);
  if (!options) return told(options.error());
  std::shared_ptr<ModelServer> made(new ModelServer(std::move(*options)));
  server::ServerOptions& asked = made->options_->serve().server;
  asked.requests.max_choices = model->served().policy.max_choices;
  asked.engine = model->options().serve().server.engine;
  asked.handle_signals = false;
  auto start = std::make_shared<Start>();
  asked.on_ready = [start] { start->tell({}); };
  auto files = server::ServerFiles::open(asked);
  if (!files) return told(files.error());
  std::vector<server::ModelEntry> entries;
  entries.push_back(entry_of(model, made->options_->serve().models.names));
  auto server = server::Server::create(std::move(asked), std::move(*files), std::move(entries));
  if (!server) return told(server.error());
  made->server_ = std::move(*server);
  made->thread_ = start_thread([raw = made->server_.get(), start](const std::stop_token&) { start->tell(raw->run()); },
                               [start](Error error) { start->tell(std::unexpected(std::move(error))); });
  if (const Result<void> begun = start->told.get_future().get(); !begun) return told(begun.error());
  return made;
}

// Reached with a running thread only where start() failed before there was a handle, so that nobody closed it.
ModelServer::~ModelServer() {
  if (thread_.joinable()) close();
}

void ModelServer::close() {
  server_->drain();
  if (thread_.joinable()) thread_.join();
}

}  // namespace octavo::capi
