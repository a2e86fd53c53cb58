#include "source/folder/tensor_list.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/to_size.h"
#include "source/folder/config_keys.h"
#include "source/tensor_names.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

constexpr std::uint64_t kMostExperts = 4096;
/// Elements of a tensor that is converted when the folder is opened.
constexpr std::uint64_t kMaxNumbers = std::uint64_t{1} << 26;

std::string shown(const CheckpointTensor& tensor) {
  return fmt::format("{}: tensor {}", tensor.file->file().path().string(), quote(tensor.stored->name));
}

Result<DType> type_of(const CheckpointTensor& tensor) {
  const std::string& dtype = tensor.stored->dtype;
  if (dtype == "F32") return DType::kF32;
  if (dtype == "F16") return DType::kF16;
  if (dtype == "BF16") return DType::kBF16;
  return fail("{} has type {}, supported are F32, F16, BF16", shown(tensor), quote(dtype));
}

/// Those that GGUF's files have as F32 whatever the checkpoint has: vectors, and the routers of mixtures.
bool is_converted(std::string_view name, std::size_t num_dims) {
  return num_dims < 2 || name.ends_with("ffn_gate_inp.weight");
}

Result<std::vector<float>> numbers_of(const CheckpointTensor& tensor, DType type) {
  const std::uint64_t count = tensor.stored->bytes / to_size(dtype_info(type).block_bytes);
  if (count > kMaxNumbers) return fail("{} has {} elements, expected at most {}", shown(tensor), count, kMaxNumbers);
  std::vector<std::byte> bytes(tensor.stored->bytes);
  OCTAVO_TRY_VOID(tensor.file->file().read(tensor.stored->offset, bytes));
  std::vector<float> numbers(count);
  dequantize(type, bytes.data(), numbers);
  return numbers;
}

/// Makes the list; lives during list_tensors() only.
class TensorLister {
 public:
  TensorLister(const Family& family, const JsonObject& config) : family_(family), config_(config) {}

  Result<void> read_config() {
    OCTAVO_TRY(is_tied_, config_.flag_or("tie_word_embeddings", family_.architecture.starts_with("gemma")));
    OCTAVO_TRY(num_heads_, config_.size("num_attention_heads"));
    OCTAVO_TRY(const auto kv_heads, config_.size_if("num_key_value_heads"));
    num_kv_heads_ = kv_heads.value_or(num_heads_);
    return {};
  }

  Result<void> add(const CheckpointTensor& tensor) {
    if (is_left_out(family_, tensor.stored->name)) return {};
    const auto place = place_of_tensor(family_, tensor.stored->name);
    if (!place) return fail("{} has no place in a model of {}", shown(tensor), family_.model);
    if (place->name == tensor_names::kOutput && is_tied_) return {};  // a copy of the embeddings
    if (tensor.stored->shape.empty() || tensor.stored->shape.size() > 2 ||
        std::ranges::count(tensor.stored->shape, 0U) > 0)
      return fail("{} has {} dimensions, expected 1 or 2 that are not 0", shown(tensor), tensor.stored->shape.size());
    if (place->expert) return add_expert(tensor, *place);
    return add_whole(tensor, place->name);
  }

  Result<void> finish() {
    for (const auto& [name, parts] : experts_) OCTAVO_TRY_VOID(add_experts(name, parts));
    OCTAVO_TRY(std::vector<float> factors, rope_factors(config_));
    if (!factors.empty())
      list_.push_back({.name = std::string(tensor_names::kRopeFactors),
                       .dims = {factors.size()},
                       .type = DType::kF32,
                       .data = FolderTensor(std::move(factors))});
    const bool has_output = std::ranges::find(list_, tensor_names::kOutput, &NamedTensor::name) != list_.end();
    if (!is_tied_ && !has_output)
      return fail("{} is false, but the checkpoint has no lm_head.weight", config_.place("tie_word_embeddings"));
    std::ranges::stable_sort(list_, {}, [](const NamedTensor& t) { return t.data.place(); });
    return {};
  }

  std::vector<NamedTensor> take() { return std::move(list_); }

 private:
  Result<void> add_whole(const CheckpointTensor& tensor, const std::string& name) {
    OCTAVO_TRY(const DType type, type_of(tensor));
    OCTAVO_TRY(const RowSwap swap, swap_of(tensor, name));
    const std::vector<std::uint64_t>& shape = tensor.stored->shape;
    if (is_converted(name, shape.size())) return add_numbers(tensor, name, type, swap);
    const std::uint64_t row_bytes = shape.back() * to_size(dtype_info(type).block_bytes);
    list_.push_back({.name = name,
                     .dims = {shape.rbegin(), shape.rend()},
                     .type = type,
                     .data = FolderTensor({tensor}, swap, row_bytes)});
    return {};
  }

  Result<void> add_numbers(const CheckpointTensor& tensor, const std::string& name, DType type, const RowSwap& swap) {
    OCTAVO_TRY(std::vector<float> numbers, numbers_of(tensor, type));
    if (family_.adds_one_to_norms && name.ends_with("norm.weight"))
      for (float& number : numbers) number += 1;
    if (!swap.is_none()) {
      const std::vector<float> stored = numbers;
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = stored[swap.source_of(i)];
    }
    const std::vector<std::uint64_t>& shape = tensor.stored->shape;
    list_.push_back({.name = name,
                     .dims = {shape.rbegin(), shape.rend()},
                     .type = DType::kF32,
                     .data = FolderTensor(std::move(numbers))});
    return {};
  }

  /// Where GGUF pairs neighbours, the two halves of each head of Q and K take turns.
  Result<RowSwap> swap_of(const CheckpointTensor& tensor, std::string_view name) const {
    const bool is_q = name.ends_with("attn_q.weight") || name.ends_with("attn_q.bias");
    const bool is_k = name.ends_with("attn_k.weight") || name.ends_with("attn_k.bias");
    if (!family_.pairs_neighbours || (!is_q && !is_k)) return RowSwap{};
    const std::uint64_t heads = is_q ? num_heads_ : num_kv_heads_, rows = tensor.stored->shape.front();
    if (heads == 0 || rows % (2 * heads) != 0)
      return fail("{} has {} rows, expected an even number for each of {} heads", shown(tensor), rows, heads);
    return RowSwap{.first = 2, .second = rows / heads / 2};
  }

  Result<void> add_expert(const CheckpointTensor& tensor, const TensorPlace& place) {
    if (*place.expert >= kMostExperts)
      return fail("{}: expert {}, expected less than {}", shown(tensor), *place.expert, kMostExperts);
    std::vector<CheckpointTensor>& parts = experts_[place.name];
    if (parts.size() <= *place.expert) parts.resize(to_size(*place.expert) + 1, CheckpointTensor{});
    parts[to_size(*place.expert)] = tensor;
    return {};
  }

  Result<void> add_experts(const std::string& name, const std::vector<CheckpointTensor>& parts) {
    const auto* first = parts.front().stored;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].stored == nullptr || first == nullptr) return fail("{}: expert {} is missing", name, i);
      if (parts[i].stored->shape != first->shape || parts[i].stored->dtype != first->dtype)
        return fail("{} has another shape or type than expert 0", shown(parts[i]));
    }
    OCTAVO_TRY(const DType type, type_of(parts.front()));
    const std::vector<std::uint64_t>& shape = first->shape;
    if (shape.size() != 2) return fail("{} has {} dimensions, expected 2", shown(parts.front()), shape.size());
    const std::uint64_t row_bytes = shape[1] * to_size(dtype_info(type).block_bytes);
    list_.push_back({.name = name,
                     .dims = {shape[1], shape[0], parts.size()},
                     .type = type,
                     .data = FolderTensor(parts, {}, row_bytes)});
    return {};
  }

  const Family& family_;
  const JsonObject& config_;
  bool is_tied_ = false;
  std::uint64_t num_heads_ = 0, num_kv_heads_ = 0;
  std::map<std::string, std::vector<CheckpointTensor>> experts_;  // by the name in GGUF
  std::vector<NamedTensor> list_;
};

}  // namespace

Result<std::vector<NamedTensor>> list_tensors(const Checkpoint& checkpoint, const Family& family,
                                              const JsonObject& config) {
  TensorLister lister(family, config);
  OCTAVO_TRY_VOID(lister.read_config());
  for (const CheckpointTensor& tensor : checkpoint.tensors()) OCTAVO_TRY_VOID(lister.add(tensor));
  OCTAVO_TRY_VOID(lister.finish());
  return lister.take();
}

}  // namespace octavo
