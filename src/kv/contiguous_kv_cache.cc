#include "octavo/kv/contiguous_kv_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/to_size.h"
#include "kernels/dispatch.h"
#include "kernels/kernels.h"
#include "kv/kv_element.h"

namespace octavo {
namespace {

// The elements of one position of one head, K or V; i16 has its scales, which are halfs, after the dimensions.
std::ptrdiff_t position_elements(const ContiguousKvOptions& options) {
  return options.head_dim + static_cast<std::ptrdiff_t>(scales_per_head(options.type, options.head_dim));
}

// The bytes of a token's K and V, at most 2^34.
std::size_t bytes_per_token(const ContiguousKvOptions& options) {
  return to_size(position_elements(options)) * element_bytes(options.type);
}

// Sets `bytes` to those of `capacity` positions, K and V; false if an address cannot count them.
bool total_bytes(const ContiguousKvOptions& options, int capacity, std::size_t& bytes) {
  bytes = 2 * bytes_per_token(options);
  return !__builtin_mul_overflow(bytes, to_size(options.batch), &bytes) &&
         !__builtin_mul_overflow(bytes, to_size(options.num_kv_heads), &bytes) &&
         !__builtin_mul_overflow(bytes, to_size(capacity), &bytes) &&
         bytes <= to_size(std::numeric_limits<std::ptrdiff_t>::max());
}

Result<void> check_options(const ContiguousKvOptions& options) {
  OCTAVO_TRY_VOID(check_type(options.type));
  if (options.type == KvType::kQ8_0)
    return fail("a contiguous KV cache has elements of i16, f16, bf16 or f32, found {}", kv_type_name(options.type));
  const std::pair<const char*, int> counts[] = {{"batch", options.batch},
                                                {"num_kv_heads", options.num_kv_heads},
                                                {"head_dim", options.head_dim},
                                                {"max_seq_len", options.max_seq_len}};
  for (const auto& [name, count] : counts)
    if (count < 1) return fail("contiguous KV cache: {} is {}, expected at least 1", name, count);
  if (options.initial_capacity < 0)
    return fail("contiguous KV cache: initial_capacity is {}, expected at least 0", options.initial_capacity);
  return {};
}

}  // namespace

struct ContiguousKvCache::Memory {
  const KernelTable& kernels;
  AlignedBuffer<std::uint8_t> buffer;  // [K, V][batch][kv_heads][capacity][position_elements]
};

// Every level rounds alike, so the fastest one writes; create() has made sure that there is one.
ContiguousKvCache::ContiguousKvCache(const ContiguousKvOptions& options)
    : options_(options),
      lengths_(to_size(options.batch)),
      memory_(new Memory{.kernels = kernel_table(supported_isa_levels().back()), .buffer = {}}) {}
ContiguousKvCache::~ContiguousKvCache() = default;
ContiguousKvCache::ContiguousKvCache(ContiguousKvCache&&) noexcept = default;
ContiguousKvCache& ContiguousKvCache::operator=(ContiguousKvCache&&) noexcept = default;

Result<ContiguousKvCache> ContiguousKvCache::create(const ContiguousKvOptions& options) {
  OCTAVO_TRY_VOID(check_options(options));
  std::size_t most_bytes = 0;
  if (!total_bytes(options, options.max_seq_len, most_bytes))
    return fail("contiguous KV cache: {} rows of {} heads of {} dimensions over {} tokens are too many to address",
                options.batch, options.num_kv_heads, options.head_dim, options.max_seq_len);
  try {
    OCTAVO_TRY_VOID(parse_isa("auto"));
    ContiguousKvCache cache(options);
    OCTAVO_TRY_VOID(cache.grow(std::min(options.initial_capacity, options.max_seq_len)));
    return cache;
  } catch (const std::bad_alloc&) {
    return fail("contiguous KV cache: no memory for the lengths of {} rows", options.batch);
  }
}

std::size_t ContiguousKvCache::token_bytes() const { return bytes_per_token(options_); }

int ContiguousKvCache::seq_len() const { return *std::ranges::max_element(lengths_); }

std::uint64_t ContiguousKvCache::bytes() const { return memory_->buffer.size(); }

Result<void> ContiguousKvCache::grow(int capacity) {
  std::size_t bytes = 0;
  OCTAVO_CHECK(total_bytes(options_, capacity, bytes), "capacity {}", capacity);
  AlignedBuffer<std::uint8_t> grown;
  try {
    grown = AlignedBuffer<std::uint8_t>(bytes);
  } catch (const std::bad_alloc&) {
    return fail("contiguous KV cache: no memory for {} tokens in {} bytes", capacity, bytes);
  }
  const std::size_t old_stride = to_size(capacity_) * token_bytes();
  const std::size_t new_stride = to_size(capacity) * token_bytes();
  const auto heads = to_size(options_.num_kv_heads);
  std::size_t matrix = 0;  // the number of the K matrix of a row and a head; those of V follow all of K
  for (int part = 0; part < 2; ++part)
    for (const int length : lengths_)
      for (std::size_t head = 0; head < heads; ++head, ++matrix)
        if (length > 0)  // otherwise there is no memory to copy from
          std::memcpy(grown.data() + matrix * new_stride, memory_->buffer.data() + matrix * old_stride,
                      to_size(length) * token_bytes());
  memory_->buffer = std::move(grown);
  capacity_ = capacity;
  return {};
}

Result<void> ContiguousKvCache::make_room(int length, int num_tokens) {
  const std::int64_t wanted = std::int64_t{length} + num_tokens;
  if (wanted > options_.max_seq_len)
    return fail("cache overflow: {} tokens and {} new ones in a cache of at most {}", length, num_tokens,
                options_.max_seq_len);
  if (wanted <= capacity_) return {};
  std::int64_t capacity = std::max(capacity_, 1);
  while (capacity < wanted) capacity *= 2;
  return grow(static_cast<int>(std::min<std::int64_t>(capacity, options_.max_seq_len)));
}

Result<void> ContiguousKvCache::reserve(int num_tokens) {
  return num_tokens <= capacity_ ? Result<void>{} : make_room(seq_len(), num_tokens - seq_len());
}

Result<void> ContiguousKvCache::check_values(std::span<const float> keys, std::span<const float> values, int num_tokens,
                                             int num_rows) const {
  if (num_tokens < 0) return fail("contiguous KV cache: found {} new tokens, expected at least 0", num_tokens);
  // The product is below 2^63 where the tokens fit the cache (create() checked its maximum); where not, the call fails.
  if (num_tokens > options_.max_seq_len) return {};
  const auto expected =
      to_size(num_rows) * to_size(options_.num_kv_heads) * to_size(num_tokens) * to_size(options_.head_dim);
  for (const auto& [name, found] : {std::pair{"keys", keys.size()}, std::pair{"values", values.size()}})
    if (found != expected)
      return fail("contiguous KV cache: found {} {}, expected {} ({} rows of {} tokens, {} heads of {} dimensions)",
                  found, name, expected, num_rows, num_tokens, options_.num_kv_heads, options_.head_dim);
  return {};
}

// Writes [num_tokens, kv_heads, head_dim] after a row's length, which grows by num_tokens.
void ContiguousKvCache::write_tokens(int row, const float* keys, const float* values, int num_tokens) {
  const KvLayer kv = layer();
  const WriteKvFn write = memory_->kernels.write_kv[to_size(options_.type)];
  const auto values_per_token = static_cast<std::ptrdiff_t>(options_.num_kv_heads) * options_.head_dim;
  int& length = lengths_[to_size(row)];
  for (int token = 0; token < num_tokens; ++token, ++length)
    write(kv, row, length, keys + token * values_per_token, values + token * values_per_token);
}

Result<void> ContiguousKvCache::update(std::span<const float> keys, std::span<const float> values, int num_tokens) {
  OCTAVO_TRY_VOID(check_values(keys, values, num_tokens, options_.batch));
  OCTAVO_TRY_VOID(make_room(seq_len(), num_tokens));
  const WriteKvFn write = memory_->kernels.write_kv[to_size(options_.type)];
  // Each head is written as a cache with a single head, in which the new tokens of `keys` follow each other.
  KvLayer head = layer();
  head.num_kv_heads = 1;
  std::size_t at = 0;
  for (int row = 0; row < options_.batch; ++row) {
    int& length = lengths_[to_size(row)];
    head.data = layer().data + to_size(row) * head.block_bytes;
    for (int h = 0; h < options_.num_kv_heads; ++h, head.data += head.head_bytes)
      for (int token = 0; token < num_tokens; ++token, at += to_size(options_.head_dim))
        write(head, 0, length + token, keys.data() + at, values.data() + at);
    length += num_tokens;
  }
  return {};
}

Result<void> ContiguousKvCache::update_fused(std::span<const float> keys, std::span<const float> values,
                                             int num_tokens) {
  OCTAVO_TRY_VOID(check_values(keys, values, num_tokens, options_.batch));
  OCTAVO_TRY_VOID(make_room(seq_len(), num_tokens));
  const std::size_t per_row = keys.size() / to_size(options_.batch);
  for (int row = 0; row < options_.batch; ++row) {
    const std::size_t first = to_size(row) * per_row;
    write_tokens(row, keys.data() + first, values.data() + first, num_tokens);
  }
  return {};
}

Result<void> ContiguousKvCache::update_row(int row, std::span<const float> keys, std::span<const float> values,
                                           int num_tokens) {
  if (!has_row(row)) return fail("contiguous KV cache: found row {}, expected 0 to {}", row, options_.batch - 1);
  OCTAVO_TRY_VOID(check_values(keys, values, num_tokens, 1));
  OCTAVO_TRY_VOID(make_room(length(row), num_tokens));
  write_tokens(row, keys.data(), values.data(), num_tokens);
  return {};
}

Result<void> ContiguousKvCache::increment(int row, int num_tokens) {
  if (!has_row(row)) return fail("contiguous KV cache: found row {}, expected 0 to {}", row, options_.batch - 1);
  if (num_tokens < 0 || num_tokens > capacity_ - length(row))
    return fail("cache overflow: {} tokens and {} new ones in memory for {}", length(row), num_tokens, capacity_);
  lengths_[to_size(row)] += num_tokens;
  return {};
}

Result<void> ContiguousKvCache::truncate(int row, int num_tokens) {
  if (!has_row(row)) return fail("contiguous KV cache: found row {}, expected 0 to {}", row, options_.batch - 1);
  if (num_tokens < 0 || num_tokens > length(row))
    return fail("contiguous KV cache: cannot keep {} tokens of row {}, which has {}", num_tokens, row, length(row));
  lengths_[to_size(row)] = num_tokens;
  return {};
}

void ContiguousKvCache::reset() { std::ranges::fill(lengths_, 0); }

void ContiguousKvCache::release() {
  reset();
  memory_->buffer = {};
  capacity_ = 0;
}

std::span<std::byte> ContiguousKvCache::raw_keys() {
  return std::as_writable_bytes(memory_->buffer.span().first(memory_->buffer.size() / 2));
}

std::span<std::byte> ContiguousKvCache::raw_values() {
  return std::as_writable_bytes(memory_->buffer.span().subspan(memory_->buffer.size() / 2));
}

Result<ContiguousKvView> ContiguousKvCache::get_kv() const {
  if (is_empty()) return fail("cache is empty");
  const std::byte* keys = std::as_bytes(memory_->buffer.span()).data();
  const std::ptrdiff_t position_stride = position_elements(options_), head_stride = capacity_ * position_stride;
  return ContiguousKvView{.type = options_.type,
                          .keys = keys,
                          .values = keys + memory_->buffer.size() / 2,
                          .batch = options_.batch,
                          .num_kv_heads = options_.num_kv_heads,
                          .seq_len = seq_len(),
                          .head_dim = options_.head_dim,
                          .lengths = lengths_,
                          .row_stride = options_.num_kv_heads * head_stride,
                          .head_stride = head_stride,
                          .position_stride = position_stride};
}

KvLayer ContiguousKvCache::layer() const {
  const std::size_t head_bytes = to_size(capacity_) * token_bytes();
  return {.data = memory_->buffer.data(),
          .block_bytes = to_size(options_.num_kv_heads) * head_bytes,
          .head_bytes = head_bytes,
          .v_offset = static_cast<std::ptrdiff_t>(memory_->buffer.size() / 2),
          .token_bytes = 2 * token_bytes(),
          .k_order = KOrder::kTokenMajor,
          .block_size = capacity_,
          .num_kv_heads = options_.num_kv_heads,
          .k_dim = options_.head_dim,
          .v_dim = options_.head_dim,
          .token_stride = static_cast<int>(position_elements(options_))};
}

}  // namespace octavo
