#include "capi/event_batch.h"

#include <utility>

namespace octavo::capi {
namespace {

/// A batch as it is handed out. The caller has a pointer to the first member.
struct Released {
  octavo_events told;
  std::unique_ptr<EventBatch> batch;
};

}  // namespace

void EventBatch::add(octavo_event told, std::string text, std::string error, std::vector<float> rows) {
  const std::string& kept = texts_.emplace_back(std::move(text));
  told.text = kept.c_str();
  told.text_size = kept.size();
  told.error = error.empty() ? "" : texts_.emplace_back(std::move(error)).c_str();
  if (told.finish == nullptr) told.finish = "";
  if (!rows.empty()) told.rows = rows_.emplace_back(std::move(rows)).data();
  events_.push_back(told);
}

octavo_events* EventBatch::release(std::unique_ptr<EventBatch> batch) {
  auto released = std::make_unique<Released>();
  released->told = {.size = sizeof(octavo_events),
                    .event_size = sizeof(octavo_event),
                    .count = batch->events_.size(),
                    .events = batch->events_.data()};
  released->batch = std::move(batch);
  return &released.release()->told;
}

void EventBatch::free(octavo_events* told) { delete reinterpret_cast<Released*>(told); }

}  // namespace octavo::capi
