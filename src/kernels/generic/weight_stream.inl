// The order in which a thread reads weights from memory, and how far ahead it asks for them.
//
// The first time that rows meet a panel its weights come from memory. No hardware prefetcher goes across pages, and a
// thread's panels end long before the prefetcher has found its pace.
#pragma once

#include "kernels/kernels.h"
#include "kernels/packed_layout.h"

namespace octavo {
namespace {

inline constexpr int kPrefetchBytes = 3072;
inline constexpr int kPasses = kPanelRows / kLanes;  // over a panel, one for each vector of its outputs

/// Panels one after another, and what is read then.
struct WeightStream {
  const uint8_t* panel;  // at hand
  size_t panel_bytes;
  const uint8_t* end;   // of the panels
  const uint8_t* next;  // after them; `end`: nobody knows

  /// What to ask for while byte `offset` of the panel is read in pass `pass`. Where a panel takes several passes, the
  /// first alone would wait for memory and the others leave it idle: they share the next panel.
  const uint8_t* ahead(size_t offset, int pass) const {
    if constexpr (kPasses == 1) {
      const uint8_t* at = panel + offset + kPrefetchBytes;
      return at < end ? at : next + (at - end);
    }
    const uint8_t* following = panel + panel_bytes < end ? panel + panel_bytes : next;
    return following + ((size_t)pass * panel_bytes + offset) / kPasses;
  }
};

}  // namespace
}  // namespace octavo
