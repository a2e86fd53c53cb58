// The reads of prefixes from the store, as the scheduler sees them (stored_prefixes.h).
#pragma once

#include "engine/schedule/sequence.h"

namespace octavo {

class PrefixReads {
 public:
  virtual ~PrefixReads() = default;
  /// Whether a sequence that could be admitted waits for a read instead. The caller then forgets it, but for its rank;
  /// it must not move until the read has ended.
  virtual bool wait_for_read(Sequence& sequence) = 0;
  /// How many sequences wait, and how many choices they will have. Blocks are held for them meanwhile.
  virtual int num_waiting() const = 0;
  virtual int num_waiting_choices() const = 0;
};

}  // namespace octavo
