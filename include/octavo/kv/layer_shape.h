// The keys and values of one layer, as a KV memory is told of them.
#pragma once

#include <optional>

namespace octavo {

/// Keys and values of one layer.
struct KvLayerShape {
  int num_kv_heads = 0;
  int k_dim = 0, v_dim = 0;              // of a head
  int window = 0;                        // positions that a token sees, its own included; 0: all
  std::optional<int> borrows_from = {};  // the earlier layer, with equal heads and no narrower window, whose keys and
                                         // values this layer reads; none: it has its own
  bool is_chunked = false;               // positions lie in chunks of `window`, and a token sees those of its own
  bool v_in_k = false;                   // a head's value is the first v_dim numbers of its key, and takes no memory
};

}  // namespace octavo
