#include "engine/sequence.h"

namespace octavo {

void Sequence::hash_blocks(const BlockHasher& hasher, int block_size) {
  if (!hasher) return;
  chain = BlockChain(hasher, cache_domain);
  chain.reserve(static_cast<std::size_t>(max_cached / block_size + 1));
  chain.extend(hasher, block_size, tokens);
}

}  // namespace octavo
