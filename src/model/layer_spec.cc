#include "model/layer_spec.h"

#include "model/head_states.h"

namespace octavo {

std::size_t DeltaSpec::state_bytes() const { return states_of(*this).bytes(); }

std::size_t MambaSpec::state_bytes() const { return states_of(*this).bytes(); }

}  // namespace octavo
