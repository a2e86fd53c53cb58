#include "kv/kv_error.h"

#include "base/error.h"

namespace octavo {

std::unexpected<Error> sequence_not_found(SequenceId id) { return fail("sequence {} not found", id); }

std::unexpected<Error> out_of_blocks(int group, int blocks_needed, int blocks_free) {
  return fail_as(ErrorKind::kOutOfBlocks, "out of KV memory: attention group {} needs {} blocks, {} are free", group,
                 blocks_needed, blocks_free);
}

std::unexpected<Error> position_out_of_range(SequenceId id, std::int64_t position) {
  return fail("position {} of sequence {} holds nothing or is out of range", position, id);
}

std::unexpected<Error> wrong_length(std::size_t expected, std::size_t actual) {
  return fail("wrong length: found {} elements, expected {}", actual, expected);
}

std::unexpected<Error> layer_out_of_range(int layer, int num_layers) {
  return fail("layer {} out of range, the cache has {}", layer, num_layers);
}

std::unexpected<Error> layer_is_borrowed(int layer, int lender) {
  return fail("layer {} has no keys and values of its own, it reads those of layer {}", layer, lender);
}

std::unexpected<Error> block_out_of_range(BlockId block, int capacity) {
  return fail("block {} out of range, the pool has {}", block, capacity);
}

std::unexpected<Error> block_not_in_use(BlockId block) { return fail("block {} is not in use", block); }

std::unexpected<Error> wrong_element_type(KvType expected, KvType actual) {
  return fail("wrong element type: found {}, expected {}", kv_type_name(actual), kv_type_name(expected));
}

std::unexpected<Error> memory_refused(std::int64_t tokens) {
  return fail_as(ErrorKind::kOutOfMemory, "the system has no memory for keys and values of {} tokens", tokens);
}

}  // namespace octavo
