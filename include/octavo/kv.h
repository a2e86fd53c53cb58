// Octavo's KV memory as a library of its own, usable without a model: block pools and tables, the paged cache with
// prefix sharing and forks, a growing contiguous cache, chunked prefill, and batched attention that reads blocks in
// place. docs/kv_memory.md explains these classes with pictures.
#pragma once

#include "octavo/kv/attention.h"
#include "octavo/kv/block_pool.h"
#include "octavo/kv/block_table.h"
#include "octavo/kv/contiguous_kv_cache.h"
#include "octavo/kv/paged_kv_cache.h"
#include "octavo/kv/prefill.h"
#include "octavo/kv/prefix_cache.h"
#include "octavo/kv/types.h"
#include "octavo/version.h"
