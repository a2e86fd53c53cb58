// Reads of prefixes from elsewhere, as the scheduler sees them (stored_prefixes.h).
#pragma once

#include "engine/schedule/sequence.h"

namespace octavo {

class PrefixReads {
 public:
  virtual ~PrefixReads() = default;
  /// Whether a sequence that could be admitted now waits for a read in its stead. The caller forgets it then, but for
  /// its rank; it must stay where it is until the read has ended.
  virtual bool wait_for_read(Sequence& sequence) = 0;
  /// Sequences that wait, and the choices that they will have. Blocks are held for them meanwhile.
  virtual int num_waiting() const = 0;
  virtual int num_waiting_choices() const = 0;
};

}  // namespace octavo
