#include "capi/event_batch.h"

#include <utility>

namespace octavo::capi {

void EventBatch::add(octavo_event told, std::string text, std::string error, std::vector<float> rows) {
  const std::string& kept = texts_.emplace_back(std::move(text));
  told.text = kept.c_str();
  told.text_size = kept.size();
  told.error = error.empty() ? "" : texts_.emplace_back(std::move(error)).c_str();
  if (told.finish == nullptr) told.finish = "";
  if (!rows.empty()) told.rows = rows_.emplace_back(std::move(rows)).data();
  told_.push_back(told);
}

octavo_events* EventBatch::release(std::unique_ptr<EventBatch> batch) noexcept {
  batch->count = batch->told_.size();
  batch->events = batch->told_.data();
  return batch.release();
}

void EventBatch::free(octavo_events* told) { delete static_cast<EventBatch*>(told); }

}  // namespace octavo::capi
