// The values of a scope's names while it runs.
#pragma once

#include "template/parse/syntax.h"
#include "template/values/evaluation.h"

namespace octavo::jinja {

struct Frame {
  Frame* outer;
  std::span<Value> slots;
};

inline Value& slot_in(Frame& frame, NameSlot slot) {
  Frame* found = &frame;
  for (std::uint32_t i = 0; i < slot.hops; ++i) found = found->outer;
  return found->slots[slot.slot];
}

}  // namespace octavo::jinja
