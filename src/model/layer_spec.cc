#include "model/layer_spec.h"

#include "model/delta_state.h"

namespace octavo {

std::size_t DeltaSpec::state_bytes() const { return DeltaState(*this).bytes(); }

}  // namespace octavo
