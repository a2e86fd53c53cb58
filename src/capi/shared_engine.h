// A model's engine as a server sees it. The server believes that it drives the engine; in fact another thread does.
//
// The server's threads call it; it holds the model.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "capi/loaded_model.h"

namespace octavo::capi {

class SharedEngine final : public Engine {
 public:
  explicit SharedEngine(std::shared_ptr<LoadedModel> model);
  ~SharedEngine() override;
  SharedEngine(const SharedEngine&) = delete;
  SharedEngine& operator=(const SharedEngine&) = delete;

  EngineStats stats() const override { return engine_.stats(); }
  Result<RequestId> submit(Request request, TokenCallback on_event) override;
  void cancel(RequestId id) override { engine_.cancel(id); }
  bool step() override { return false; }
  /// Waits until a stop is asked for or, after drain(), the server's last request has ended.
  void run_until(std::stop_token stop) override;
  void drain() override;
  void release_memory(bool cached) override { engine_.release_memory(cached); }

 private:
  /// The choices that are open; callbacks count them down even after the server's end.
  struct Open {
    std::mutex mutex = {};
    std::condition_variable_any changed = {};
    int num_choices = 0;
    std::map<RequestId, int> choices = {};  // open ones of a request; below 0 where one ended before submit() returned
    bool is_draining = false;
  };

  void cancel_all();

  const std::shared_ptr<LoadedModel> model_;
  Engine& engine_;
  const std::shared_ptr<Open> open_ = std::make_shared<Open>();
};

}  // namespace octavo::capi
