// The errors of the KV memory's calls, for `return` in a function that gives a Result. Nothing has changed where one of
// them is returned.
//
// Free functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>

#include "octavo/kv/types.h"

namespace octavo {

std::unexpected<Error> sequence_not_found(SequenceId id);
/// kOutOfBlocks. `group`: the attention group whose pool is too small for the call.
std::unexpected<Error> out_of_blocks(int group, int blocks_needed, int blocks_free);
/// The error of a position that was never written, was given back, is negative, or is beyond what a cache can hold.
std::unexpected<Error> position_out_of_range(SequenceId id, std::int64_t position);
/// The error of an array with another length than expected, in elements.
std::unexpected<Error> wrong_length(std::size_t expected, std::size_t actual);
std::unexpected<Error> layer_out_of_range(int layer, int num_layers);
/// The error of writing to a layer that reads the keys and values of another one.
std::unexpected<Error> layer_is_borrowed(int layer, int lender);
std::unexpected<Error> block_out_of_range(BlockId block, int capacity);
/// The error of a block that is free already, or was never allocated.
std::unexpected<Error> block_not_in_use(BlockId block);
std::unexpected<Error> wrong_element_type(KvType expected, KvType actual);
/// kOutOfMemory: the contiguous layout could not grow to so many tokens.
std::unexpected<Error> memory_refused(std::int64_t tokens);

}  // namespace octavo
