#include "kv/state_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/aligned_buffer.h"
#include "kv/kv_element.h"

namespace octavo {
namespace {

/// Empty for values as wide as keys.
std::string values_text(const KvLayerShape& shape) {
  if (shape.v_in_k) return fmt::format(" whose first {} are values", shape.v_dim);
  return shape.v_dim == shape.k_dim ? "" : fmt::format(" with values of {}", shape.v_dim);
}

Result<void> check_layer(int layer, const KvLayerShape& shape) {
  if (shape.num_kv_heads < 1 || shape.k_dim < 1 || shape.v_dim < 1)
    return fail("layer {} has {} KV heads of {} dimensions{}, expected at least 1 of each", layer, shape.num_kv_heads,
                shape.k_dim, values_text(shape));
  if (shape.v_in_k && shape.v_dim > shape.k_dim)
    return fail("layer {} has values of {} dimensions in keys, expected at most the {} of a key", layer, shape.v_dim,
                shape.k_dim);
  if (shape.window < 0)
    return fail("the window of layer {} is {}, expected 0 (all tokens) or more", layer, shape.window);
  return {};
}

Result<void> check_lender(int layer, std::span<const std::optional<KvLayerShape>> layers) {
  const KvLayerShape& shape = *layers[to_size(layer)];
  const int from = *shape.borrows_from;
  if (from < 0 || from >= layer || !layers[to_size(from)] || layers[to_size(from)]->borrows_from)
    return fail("layer {} borrows from layer {}, expected an earlier one with keys and values of its own", layer, from);
  const KvLayerShape& lender = *layers[to_size(from)];
  if (shape.num_kv_heads != lender.num_kv_heads || shape.k_dim != lender.k_dim || shape.v_dim != lender.v_dim ||
      shape.v_in_k != lender.v_in_k)
    return fail("layer {} has {} KV heads of {} dimensions{}, layer {}, from which it borrows, {} of {}{}", layer,
                shape.num_kv_heads, shape.k_dim, values_text(shape), from, lender.num_kv_heads, lender.k_dim,
                values_text(lender));
  // Blocks behind the lender's window are given back.
  if (lender.window != 0 && (shape.window == 0 || shape.window > lender.window))
    return fail("layer {} looks back {} tokens (0: all), expected at most the {} of layer {}, from which it borrows",
                layer, shape.window, lender.window, from);
  if (lender.is_chunked && (!shape.is_chunked || shape.window != lender.window))
    return fail("layer {} does not see chunks of {} tokens, as layer {} does, from which it borrows", layer,
                lender.window, from);
  return {};
}

bool shares_table(const KvGroup& group, const KvLayerShape& shape) {
  return group.window == shape.window && group.is_chunked == shape.is_chunked &&
         group.num_kv_heads == shape.num_kv_heads && group.k_dim == shape.k_dim && group.v_dim == shape.v_dim &&
         group.v_in_k == shape.v_in_k;
}

KvPlace add_to_group(std::vector<KvGroup>& groups, int layer, const KvLayerShape& shape) {
  auto group = std::ranges::find_if(groups, [&](const KvGroup& known) { return shares_table(known, shape); });
  if (group == groups.end())
    group = groups.insert(groups.end(), {.window = shape.window,
                                         .is_chunked = shape.is_chunked,
                                         .num_kv_heads = shape.num_kv_heads,
                                         .k_dim = shape.k_dim,
                                         .v_dim = shape.v_dim,
                                         .v_in_k = shape.v_in_k,
                                         .layers = {}});
  group->layers.push_back(layer);
  return {.group = static_cast<int>(group - groups.begin()), .index = group->num_layers() - 1, .window = shape.window};
}

/// States begin at cache lines.
SnapshotShape snapshot_of(std::span<const std::size_t> recurrent_bytes) {
  SnapshotShape shape;
  for (const std::size_t bytes : recurrent_bytes) {
    shape.places.push_back(bytes == 0 ? std::nullopt : std::optional(shape.bytes));
    shape.bytes += (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  }
  return shape;
}

}  // namespace

std::size_t SnapshotShape::bytes_of_first(int num_layers) const {
  for (std::size_t i = to_size(num_layers); i < places.size(); ++i)
    if (places[i]) return *places[i];
  return bytes;
}

Result<StateLayout> StateLayout::create(KvType type, KvLayout layout, int block_size,
                                        std::span<const std::optional<KvLayerShape>> layers,
                                        std::span<const std::size_t> recurrent_bytes) {
  OCTAVO_TRY_VOID(check_type(type));
  StateLayout made{.type = type,
                   .layout = layout,
                   .block_size = block_size,
                   .groups = {},
                   .places = {},
                   .snapshot = snapshot_of(recurrent_bytes)};
  for (int layer = 0; layer < static_cast<int>(layers.size()); ++layer) {
    std::optional<KvPlace>& place = made.places.emplace_back();
    const std::optional<KvLayerShape>& shape = layers[to_size(layer)];
    if (!shape) continue;
    OCTAVO_TRY_VOID(check_layer(layer, *shape));
    if (made.is_contiguous() && (shape->k_dim != shape->v_dim || shape->v_in_k))
      return fail(
          "layer {} has heads of {} dimensions{}, expected keys and values of equal width, each with memory of its "
          "own, in the contiguous layout",
          layer, shape->k_dim, values_text(*shape));
    if (!shape->borrows_from) {
      place = add_to_group(made.groups, layer, *shape);
    } else {
      OCTAVO_TRY_VOID(check_lender(layer, layers));
      place = made.place(*shape->borrows_from);
      place->window = shape->window;
    }
  }
  if (made.groups.empty()) return fail("found {} layers, expected one with keys and values of its own", layers.size());
  return made;
}

std::string StateLayout::name() const {
  std::string name =
      fmt::format("{} {} of {}", kv_type_name(type), is_contiguous() ? "contiguous" : "blocks", block_size);
  for (int g = 0; g < num_groups(); ++g)
    name +=
        fmt::format("; {} {}, {} heads of {} bytes, values {}, layers {}", group(g).is_chunked ? "chunk" : "window",
                    group(g).window, group(g).num_kv_heads, head_bytes(g),
                    group(g).v_in_k ? "in keys" : fmt::format("at {}", v_offset(g)), fmt::join(group(g).layers, " "));
  name += fmt::format("; snapshot of {} bytes", snapshot.bytes);
  for (std::size_t layer = 0; layer < snapshot.places.size(); ++layer)
    if (snapshot.places[layer]) name += fmt::format(", layer {} at {}", layer, *snapshot.places[layer]);
  return name;
}

const KvPlace& StateLayout::place(int layer) const {
  OCTAVO_CHECK(layer >= 0 && layer < num_layers() && places[to_size(layer)], "layer {} of {}", layer, num_layers());
  return *places[to_size(layer)];
}

int StateLayout::lender(int layer) const {
  const KvPlace& at = place(layer);
  return group(at.group).layers[to_size(at.index)];
}

// Types with scales pad a block's K to pairs of dimensions. In the contiguous layout a token's scales lie behind its
// dimensions, and nothing is padded.
std::size_t StateLayout::v_offset(int g) const {
  const auto dim = to_size(group(g).k_dim);
  if (is_contiguous()) return to_size(block_size) * (dim + scales_per_head(type, group(g).k_dim)) * element_bytes(type);
  const std::size_t stored = scale_dims(type) > 0 ? (dim + 1) / 2 * 2 : dim;
  return stored * to_size(block_size) * element_bytes(type);
}

std::size_t StateLayout::head_bytes(int g) const {
  if (is_contiguous()) return 2 * v_offset(g);
  const auto dim = to_size(group(g).v_dim), tokens = to_size(block_size);
  if (group(g).v_in_k) return v_offset(g) + tokens * scales_per_head(type, group(g).k_dim) * sizeof(std::uint16_t);
  if (scale_dims(type) == 0) return v_offset(g) + tokens * dim * element_bytes(type);
  const std::size_t v_bytes = (tokens + 1) / 2 * 2 * dim * element_bytes(type);  // pairs of tokens
  const std::size_t scales = scales_per_head(type, group(g).k_dim) + scales_per_head(type, group(g).v_dim);
  return v_offset(g) + v_bytes + tokens * scales * sizeof(std::uint16_t);
}

std::size_t StateLayout::block_bytes() const {
  std::size_t bytes = 0;
  for (int g = 0; g < num_groups(); ++g) bytes += block_bytes(g);
  return bytes;
}

int StateLayout::tokens_of_a_snapshot() const {
  const std::size_t blocks = std::max<std::size_t>(1, (snapshot.bytes + block_bytes() - 1) / block_bytes());
  const std::size_t most = to_size(std::numeric_limits<int>::max() / block_size);
  return static_cast<int>(std::min(blocks, most)) * block_size;
}

std::int64_t StateRoom::longest_sequence() const {
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
  for (int g = 0; g < layout.num_groups(); ++g) {
    const std::int64_t held = num_blocks[to_size(g)], window = layout.group(g).window;
    // The window of a position, wherever it lies in its block: with that, a sequence can go on for ever.
    const bool rolls = window != 0 && held >= (window + layout.block_size - 2) / layout.block_size + 1;
    if (!rolls) tokens = std::min(tokens, held * layout.block_size);
  }
  return tokens;
}

std::uint64_t StateRoom::block_bytes() const {
  std::uint64_t bytes = 0;
  for (int g = 0; g < layout.num_groups(); ++g)
    bytes += static_cast<std::uint64_t>(num_blocks[to_size(g)]) * layout.block_bytes(g);
  return bytes;
}

}  // namespace octavo
