#include "capi/shared_engine.h"

#include <utility>
#include <vector>

#include "base/error.h"

namespace octavo::capi {

SharedEngine::SharedEngine(std::shared_ptr<LoadedModel> model)
    : Engine(model->engine().text()), model_(std::move(model)), engine_(model_->engine()) {
  model_->add_guest(this, [this] { cancel_all(); });
}

SharedEngine::~SharedEngine() { model_->remove_guest(this); }

Result<RequestId> SharedEngine::submit(Request request, TokenCallback on_event) {
  const int num_choices = request.num_choices;
  {
    const std::lock_guard lock(open_->mutex);
    if (open_->is_draining || model_->is_closed())
      return fail_as(ErrorKind::kDraining, "no further request is taken: the server ends");
    open_->num_choices += num_choices;
  }
  auto told = [open = open_, on_event = std::move(on_event)](const TokenEvent& event) {
    on_event(event);
    if (event.finish == FinishReason::kNone) return;
    const std::lock_guard lock(open->mutex);
    if (--open->choices[event.request] == 0) open->choices.erase(event.request);
    if (--open->num_choices == 0) open->changed.notify_all();
  };
  auto id = engine_.submit(std::move(request), std::move(told));
  {
    const std::lock_guard lock(open_->mutex);
    if (!id) {
      open_->num_choices -= num_choices;
      return id;
    }
    int& open_choices = open_->choices[*id];
    open_choices += num_choices;
    if (open_choices == 0) open_->choices.erase(*id);
  }
  if (model_->is_closed()) engine_.cancel(*id);  // cancel_all() may have come before the request was listed
  return id;
}

void SharedEngine::cancel_all() {
  std::vector<RequestId> ids;
  {
    const std::lock_guard lock(open_->mutex);
    for (const auto& [id, num_choices] : open_->choices) ids.push_back(id);
  }
  for (const RequestId id : ids) engine_.cancel(id);
}

void SharedEngine::run_until(std::stop_token stop) {
  std::unique_lock lock(open_->mutex);
  open_->changed.wait(lock, stop, [this] { return open_->is_draining && open_->num_choices == 0; });
}

void SharedEngine::drain() {
  const std::lock_guard lock(open_->mutex);
  open_->is_draining = true;
  open_->changed.notify_all();
}

}  // namespace octavo::capi
