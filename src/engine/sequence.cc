#include "engine/sequence.h"

namespace octavo {

void Sequence::hash_blocks(const BlockHasher& hasher, int block_size) {
  if (!hasher) return;
  chain = BlockChain(hasher, cache_domain);
  chain.reserve(tokens.size() / static_cast<std::size_t>(block_size));
  chain.extend(hasher, block_size, tokens);
}

}  // namespace octavo
