#include "engine/schedule/sequence.h"

#include "base/to_size.h"

namespace octavo {

void Sequence::hash_blocks(const BlockHashing& hashing) {
  if (!hashing.hasher) return;
  chain = BlockChain(hashing.hasher, params.cache_domain, hashing.origin);
  chain.reserve(tokens.size() / to_size(hashing.block_size));
  chain.extend(hashing.hasher, hashing.block_size, rows());
}

}  // namespace octavo
