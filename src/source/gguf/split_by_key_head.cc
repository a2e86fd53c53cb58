#include "source/gguf/split_by_key_head.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::string_view kArchitecture = "qwen3next", kEnding = ".ssm_in.weight";
constexpr std::uint64_t kMostHeads = 1 << 16, kMostRows = 1 << 24;  // keep products of three within 64 bits

bool is_projection(const SourceTensor& tensor) { return tensor.name.ends_with(kEnding); }

}  // namespace

SplitByKeyHead::SplitByKeyHead(std::unique_ptr<const ModelSource> model) : model_(std::move(model)) {
  for (const SourceTensor& tensor : model_->tensors()) begin_ = std::max(begin_, tensor.offset + tensor.tensor.bytes());
  end_ = begin_;
}

Result<std::unique_ptr<const ModelSource>> SplitByKeyHead::of(std::unique_ptr<const ModelSource> model) {
  const auto architecture = model->get_string("general.architecture");
  if (!architecture || *architecture != kArchitecture || std::ranges::none_of(model->tensors(), is_projection))
    return model;
  OCTAVO_TRY(const Heads heads, read_heads(*model));
  std::unique_ptr<SplitByKeyHead> split(new SplitByKeyHead(std::move(model)));
  OCTAVO_TRY_VOID(split->add_tensors(heads));
  return split;
}

Result<SplitByKeyHead::Heads> SplitByKeyHead::read_heads(const ModelSource& model) {
  Heads heads;
  OCTAVO_TRY(heads.num_keys, model.get_u64("qwen3next.ssm.group_count"));
  OCTAVO_TRY(heads.key_dim, model.get_u64("qwen3next.ssm.state_size"));
  OCTAVO_TRY(const std::uint64_t inner, model.get_u64("qwen3next.ssm.inner_size"));
  if (heads.num_keys == 0 || heads.num_keys > kMostHeads || heads.key_dim > kMostHeads || inner > kMostRows ||
      inner % heads.num_keys != 0)
    return fail("{}: qwen3next.ssm.inner_size is {}, expected a multiple of {} key heads", model.name(), inner,
                heads.num_keys);
  heads.values = inner / heads.num_keys;
  return heads;
}

Result<void> SplitByKeyHead::add_tensors(const Heads& heads) {
  for (const auto& [key, value] : model_->metadata())
    if (MetadataValue* place = directory_.add(key)) *place = value;
  for (const SourceTensor& tensor : model_->tensors()) {
    if (!is_projection(tensor)) {
      directory_.add(tensor);
      continue;
    }
    if (tensor.tensor.rows != static_cast<std::int64_t>(heads.rows()))
      return fail("{}: tensor {} has {} rows, expected {} by the metadata of {}", name(), tensor.name,
                  tensor.tensor.rows, heads.rows(), kArchitecture);
    const std::string layer(tensor.name.substr(0, tensor.name.size() - kEnding.size()));
    const std::array<Part, 3> qkv = {
        {{0, heads.key_dim}, {heads.key_dim, heads.key_dim}, {2 * heads.key_dim, heads.values}}};
    const std::array<Part, 1> gate = {{{2 * heads.key_dim + heads.values, heads.values}}};
    for (const auto& [ending, parts] : {std::pair{".attn_qkv.weight", std::span<const Part>(qkv)},
                                        {".attn_gate.weight", std::span<const Part>(gate)}}) {
      if (model_->find_tensor(layer + ending) != nullptr)
        return fail("{}: both {} and {}{} are there", name(), tensor.name, layer, ending);
      make(tensor, layer + ending, heads, parts);
    }
  }
  return {};
}

void SplitByKeyHead::make(const SourceTensor& stored, std::string name, const Heads& heads,
                          std::span<const Part> parts) {
  const std::uint64_t row_bytes = stored.tensor.row_bytes(), rows_of_head = heads.rows() / heads.num_keys;
  SourceTensor made{.name = names_.emplace_back(std::move(name)), .offset = end_};
  std::uint64_t rows = 0;
  for (const Part& part : parts) {
    for (std::uint64_t head = 0; head < heads.num_keys && part.rows > 0; ++head) {
      const std::uint64_t at = stored.offset + (head * rows_of_head + part.first) * row_bytes;
      runs_.push_back({.begin = end_, .stored = at, .bytes = part.rows * row_bytes});
      end_ = runs_.back().end();
    }
    rows += heads.num_keys * part.rows;
  }
  made.dims = {static_cast<std::uint64_t>(stored.tensor.cols), rows};
  made.tensor = {
      .type = stored.tensor.type, .rows = static_cast<std::int64_t>(rows), .cols = stored.tensor.cols, .data = {}};
  directory_.add(std::move(made));
}

template <class Visit>
Result<void> SplitByKeyHead::for_stored(std::uint64_t offset, std::uint64_t size, const Visit& visit) const {
  if (offset < begin_) return visit(offset, size);
  auto run = std::ranges::upper_bound(runs_, offset, {}, &Run::end);
  for (; size > 0 && run != runs_.end(); ++run) {
    const std::uint64_t some = std::min(size, run->end() - offset);
    OCTAVO_TRY_VOID(visit(run->stored + offset - run->begin, some));
    offset += some;
    size -= some;
  }
  if (size == 0) return {};
  return fail("{}: read {} bytes behind the last tensor", name(), size);
}

Result<void> SplitByKeyHead::read(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  return for_stored(offset, out.size(), [&](std::uint64_t at, std::uint64_t size) {
    return model_->read(at, out.subspan(std::exchange(done, done + size), size));
  });
}

void SplitByKeyHead::prefetch(std::uint64_t offset, std::uint64_t size) const {
  std::ignore = for_stored(offset, size, [&](std::uint64_t at, std::uint64_t some) -> Result<void> {
    model_->prefetch(at, some);
    return {};
  });
}

void SplitByKeyHead::drop(std::uint64_t offset, std::uint64_t size) const {
  std::ignore = for_stored(offset, size, [&](std::uint64_t at, std::uint64_t some) -> Result<void> {
    model_->drop(at, some);
    return {};
  });
}

}  // namespace octavo
