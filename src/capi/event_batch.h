// A batch of events with all that they point to. One thread at a time; whoever polled owns it until it is freed.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "octavo.h"

namespace octavo::capi {

/// A batch; its base class is what the caller sees of it.
class EventBatch : private octavo_events {
 public:
  EventBatch()
      : octavo_events{
            .size = sizeof(octavo_events), .event_size = sizeof(octavo_event), .count = 0, .events = nullptr} {}

  /// Adds an event: it takes `text`, `error` and `rows`, and all other fields from `told`.
  void add(octavo_event told, std::string text, std::string error = {}, std::vector<float> rows = {});
  bool is_empty() const { return told_.empty(); }

  /// Hands a batch to the caller, and frees one that the caller gives back.
  static octavo_events* release(std::unique_ptr<EventBatch> batch) noexcept;
  static void free(octavo_events* told);

 private:
  std::vector<octavo_event> told_;
  std::deque<std::string> texts_;  // a deque, so that texts never move
  std::deque<std::vector<float>> rows_;
};

}  // namespace octavo::capi
