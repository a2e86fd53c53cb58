// Arbitrary operations on the contiguous KV cache, beside a simple model of what every row holds, and attention over it
// and over slots in the caller's memory.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz_attention.h"
#include "fuzz_bytes.h"
#include "octavo/kv/attention.h"
#include "octavo/kv/contiguous_kv_cache.h"

namespace octavo {
namespace {

ContiguousKvOptions options_of(Bytes& bytes) {
  return {.type = static_cast<KvType>(bytes.below(5)),
          .batch = bytes.below(5),
          .num_kv_heads = bytes.below(4),
          .head_dim = bytes.below(80),
          .initial_capacity = bytes.below(24) - 1,
          .max_seq_len = bytes.below(64)};
}

// A whole number below 64, which every type but i16 keeps.
float number(std::size_t i) { return static_cast<float>(i * 29 % 127) - 63.0F; }

class ContiguousFuzzer {
 public:
  ContiguousFuzzer(ContiguousKvCache& cache, Bytes& bytes)
      : cache_(cache), bytes_(bytes), rows_(static_cast<std::size_t>(cache.batch_size())) {}

  void run() {
    while (!bytes_.empty()) {
      operation();
      check();
    }
  }

 private:
  struct Row {  // [length][kv_heads][head_dim]
    std::vector<float> keys, values;
  };

  std::size_t token() const { return static_cast<std::size_t>(cache_.num_kv_heads() * cache_.head_dim()); }
  int length(const Row& row) const { return static_cast<int>(row.keys.size() / token()); }

  std::vector<float> some(std::size_t count) {
    std::vector<float> floats(count);
    for (float& x : floats) x = number(next_++);
    return floats;
  }

  // Token t of head h of [kv_heads][num_tokens][head_dim], to the end of [length][kv_heads][head_dim].
  void append_by_head(std::vector<float>& to, std::span<const float> from, std::size_t num_tokens) const {
    const auto dim = static_cast<std::size_t>(cache_.head_dim());
    for (std::size_t t = 0; t < num_tokens; ++t)
      for (std::size_t h = 0; h < static_cast<std::size_t>(cache_.num_kv_heads()); ++h) {
        const auto head = from.subspan((h * num_tokens + t) * dim, dim);
        to.insert(to.end(), head.begin(), head.end());
      }
  }

  void append_all(bool fused) {
    const int count = bytes_.below(10) - 1;
    const auto tokens = static_cast<std::size_t>(std::max(0, count));
    const std::size_t per_row = tokens * token(), odd = bytes_.below(24) == 0 ? 1 : 0;
    const std::vector<float> keys = some(rows_.size() * per_row + odd), values = some(keys.size());
    if (!(fused ? cache_.update_fused(keys, values, count) : cache_.update(keys, values, count))) return;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const auto k = std::span(keys).subspan(r * per_row, per_row), v = std::span(values).subspan(r * per_row, per_row);
      if (fused) {
        rows_[r].keys.insert(rows_[r].keys.end(), k.begin(), k.end());
        rows_[r].values.insert(rows_[r].values.end(), v.begin(), v.end());
      } else {
        append_by_head(rows_[r].keys, k, tokens);
        append_by_head(rows_[r].values, v, tokens);
      }
    }
  }

  void append_one() {
    const int row = bytes_.below(6) - 1, count = bytes_.below(10) - 1;
    const std::vector<float> keys = some(static_cast<std::size_t>(std::max(0, count)) * token()),
                             values = some(keys.size() + (bytes_.below(24) == 0 ? 1 : 0));
    if (!cache_.update_row(row, keys, values, count)) return;
    Row& own = rows_[static_cast<std::size_t>(row)];
    own.keys.insert(own.keys.end(), keys.begin(), keys.end());
    own.values.insert(own.values.end(), values.begin(), values.end());
  }

  void truncate() {
    const int row = bytes_.below(6) - 1, count = static_cast<int>(bytes_.number());
    const bool possible =
        row >= 0 && row < cache_.batch_size() && count >= 0 && count <= length(rows_[static_cast<std::size_t>(row)]);
    FUZZ_CHECK(cache_.truncate(row, count).has_value() == possible);
    if (!possible) return;
    rows_[static_cast<std::size_t>(row)].keys.resize(static_cast<std::size_t>(count) * token());
    rows_[static_cast<std::size_t>(row)].values.resize(static_cast<std::size_t>(count) * token());
  }

  // As callers do that write themselves: zeros, which are zero bytes in every type.
  void write_raw() {
    const int row = bytes_.below(6) - 1, count = static_cast<int>(bytes_.number());
    if (row >= 0 && row < cache_.batch_size()) {
      for (const std::span<std::byte> raw : {cache_.raw_keys(), cache_.raw_values()}) {
        const std::size_t per_head = raw.size() / rows_.size() / static_cast<std::size_t>(cache_.num_kv_heads());
        const std::size_t per_token =
            cache_.capacity() == 0 ? 0 : per_head / static_cast<std::size_t>(cache_.capacity());
        for (std::size_t h = 0; h < static_cast<std::size_t>(cache_.num_kv_heads()); ++h) {
          const std::size_t head = static_cast<std::size_t>(row * cache_.num_kv_heads()) + h;
          const std::size_t done = static_cast<std::size_t>(cache_.length(row)) * per_token;
          std::ranges::fill(raw.subspan(head * per_head + done, per_head - done), std::byte{});
        }
      }
    }
    if (!cache_.increment(row, count)) return;
    Row& own = rows_[static_cast<std::size_t>(row)];
    own.keys.resize(own.keys.size() + static_cast<std::size_t>(count) * token());
    own.values.resize(own.keys.size());
  }

  void attend() {
    const AttentionOptions options{.num_heads = cache_.num_kv_heads() * bytes_.below(4),
                                   .scale = 0.001F,
                                   .window = bytes_.below(3) == 0 ? bytes_.below(20) : 0,
                                   .zeros_for_empty = bytes_.below(2) == 0};
    const auto row_floats = static_cast<std::size_t>(options.num_heads * cache_.head_dim());
    const std::vector<float> queries = fuzz_queries(bytes_, rows_.size() * row_floats);
    std::vector<float> out(queries.size());
    BatchedAttention& attention = fuzz_attention(bytes_);
    if (attention.decode(cache_, queries, options, out)) check_rows(queries, options, out, cache_.type());
    BatchedKvView view(cache_.num_kv_heads(), cache_.head_dim());
    for (const Row& row : rows_) {
      const int position = bytes_.below(16) == 0 ? static_cast<int>(bytes_.number()) : length(row);
      if (bytes_.below(2) == 0) {
        view.add_borrowed({.keys = row.keys, .values = row.values, .position = position});
      } else {
        view.add_owned(row.keys, row.values, position);
      }
      if (position >= 0 && position <= length(row)) (void)view.kv_for_slot(view.slot_count() - 1);
    }
    std::ranges::fill(out, 1e9F);
    if (!attention.decode(view, queries, options, out)) return;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      if (view.position(static_cast<int>(r)) != length(rows_[r])) return;
    check_rows(queries, options, out, KvType::kF32);
  }

  void check_rows(std::span<const float> queries, const AttentionOptions& options, std::span<const float> out,
                  KvType type) const {
    const std::size_t row_floats = out.size() / rows_.size();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const int end = length(rows_[r]);
      const auto read = [&](int position, std::span<float> key, std::span<float> value) {
        const auto offset = static_cast<std::size_t>(position) * token();
        std::ranges::copy(std::span(rows_[r].keys).subspan(offset, token()), key.begin());
        std::ranges::copy(std::span(rows_[r].values).subspan(offset, token()), value.begin());
      };
      check_near(
          out.subspan(r * row_floats, row_floats),
          attention_row(queries.subspan(r * row_floats, row_floats), options, cache_.num_kv_heads(), cache_.head_dim(),
                        options.window > 0 ? std::max(0, end - options.window) : 0, end, read),
          type);
    }
  }

  void operation() {
    switch (bytes_.below(8)) {
      case 0:
      case 1: return append_one();
      case 2: return append_all(false);
      case 3: return append_all(true);
      case 4: return truncate();
      case 5: return write_raw();
      case 6:
        if (bytes_.below(8) == 0) {
          cache_.reset();
          for (Row& row : rows_) row = {};
        } else {
          (void)cache_.reserve(static_cast<int>(bytes_.number()));
        }
        return;
      default: return attend();
    }
  }

  void check() const {
    int longest = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      FUZZ_CHECK(cache_.length(static_cast<int>(r)) == length(rows_[r]));
      longest = std::max(longest, length(rows_[r]));
    }
    FUZZ_CHECK(cache_.seq_len() == longest && longest <= cache_.capacity() &&
               cache_.capacity() <= cache_.max_seq_len());
    const Result<ContiguousKvView> view = cache_.get_kv();
    FUZZ_CHECK(view.has_value() == (longest > 0));
    if (view && view->type == KvType::kF32) check_floats(*view);
  }

  void check_floats(const ContiguousKvView& view) const {
    const auto dim = static_cast<std::size_t>(cache_.head_dim());
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t i = 0; i < rows_[r].keys.size(); i += dim) {
        const auto head = static_cast<std::ptrdiff_t>(i / dim) % view.num_kv_heads;
        const auto position = static_cast<std::ptrdiff_t>(i / token());
        const std::ptrdiff_t offset = (static_cast<std::ptrdiff_t>(r) * view.row_stride + head * view.head_stride +
                                       position * view.position_stride) *
                                      static_cast<std::ptrdiff_t>(sizeof(float));
        FUZZ_CHECK(std::memcmp(view.keys + offset, &rows_[r].keys[i], dim * sizeof(float)) == 0);
        FUZZ_CHECK(std::memcmp(view.values + offset, &rows_[r].values[i], dim * sizeof(float)) == 0);
      }
  }

  ContiguousKvCache& cache_;
  Bytes& bytes_;
  std::vector<Row> rows_;
  std::size_t next_ = 0;
};

}  // namespace
}  // namespace octavo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octavo::Bytes bytes({data, size});
  octavo::Result<octavo::ContiguousKvCache> cache = octavo::ContiguousKvCache::create(octavo::options_of(bytes));
  if (cache) octavo::ContiguousFuzzer(*cache, bytes).run();
  return 0;
}
