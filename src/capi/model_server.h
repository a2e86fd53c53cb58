// A server of one loaded model, in this process, on a thread of its own. A handle stands for it; any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <thread>

#include "capi/callback_scope.h"
#include "capi/handles.h"
#include "capi/library_options.h"
#include "capi/loaded_model.h"
#include "server/server.h"

namespace octavo::capi {

class ModelServer final : public Handled {
 public:
  /// Starts a server; it listens on return. Errors: an option; the port cannot be opened; the caller drives the model.
  static CallResult<std::shared_ptr<ModelServer>> start(const std::shared_ptr<LoadedModel>& model,
                                                        std::span<const char* const> options);
  ~ModelServer() override;

  std::string url() const { return server_->url(); }
  /// Waits for running requests, as long as --drain-timeout says.
  void close() override;
  bool is_closable() const override { return !CallbackScope::is_inside(); }
  void abandon() override { server_->drain(); }

 private:
  explicit ModelServer(std::unique_ptr<LibraryOptions> options) : options_(std::move(options)) {}

  const std::unique_ptr<LibraryOptions> options_;
  std::unique_ptr<server::Server> server_;
  std::jthread thread_;
};

}  // namespace octavo::capi
