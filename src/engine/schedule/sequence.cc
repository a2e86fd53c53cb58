#include "engine/schedule/sequence.h"

#include "base/to_size.h"

namespace octavo {

void Sequence::hash_blocks(const BlockHasher& hasher, int block_size) {
  if (!hasher) return;
  chain = BlockChain(hasher, params.cache_domain);
  chain.reserve(tokens.size() / to_size(block_size));
  chain.extend(hasher, block_size, tokens);
}

}  // namespace octavo
