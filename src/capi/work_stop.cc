#include "capi/work_stop.h"

namespace octavo::capi {
namespace {

thread_local std::stop_token given;

}  // namespace

void WorkStop::give_to_thread(std::stop_token stop) noexcept { given = std::move(stop); }
const std::stop_token& WorkStop::of_thread() noexcept { return given; }

StopOfCall::StopOfCall(const std::stop_token& of_model)
    : of_model_(of_model, Ask{source_}), of_thread_(WorkStop::of_thread(), Ask{source_}) {}

CallError StopOfCall::tell(CallError error) const {
  if (source_.stop_requested()) error.status = OCTAVO_STOPPED;
  return error;
}

}  // namespace octavo::capi
