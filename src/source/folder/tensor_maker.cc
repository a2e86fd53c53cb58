#include "source/folder/tensor_maker.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "base/to_size.h"
#include "source/folder/config_keys.h"
#include "source/folder/mxfp4_experts.h"
#include "source/folder/transposed_experts.h"
#include "source/tensor_names.h"
#include "tensor/dequantize.h"

namespace octavo {
namespace {

/// Elements that are converted when the folder is opened: of a tensor, and of all.
constexpr std::uint64_t kMaxNumbers = std::uint64_t{1} << 26, kMaxNumbersInAll = std::uint64_t{1} << 28;

using Dims = std::vector<std::uint64_t>;

Result<DType> type_of(const CheckpointTensor& tensor) {
  const std::string& dtype = tensor.stored->dtype;
  if (dtype == "F32") return DType::kF32;
  if (dtype == "F16") return DType::kF16;
  if (dtype == "BF16") return DType::kBF16;
  return fail("{} has type {}, supported are F32, F16, BF16", shown(tensor), quote(dtype));
}

std::uint64_t element_bytes(DType type) { return to_size(dtype_info(type).block_bytes); }

/// Whether GGUF's files have the tensor as F32 whatever the checkpoint has.
bool is_converted(std::string_view name, std::size_t num_dims) {
  return num_dims < 2 || name.ends_with("ssm_a") || name.ends_with("ssm_d") || name.ends_with("_norm.weight") ||
         name.ends_with("ffn_gate_inp.weight") || name.ends_with("ssm_conv1d.weight") ||
         name.ends_with("shortconv.conv.weight");
}

Result<void> check_dims(const CheckpointTensor& tensor, std::size_t fewest, std::size_t most) {
  const Dims& shape = tensor.stored->shape;
  if (shape.size() >= fewest && shape.size() <= most && std::ranges::count(shape, 0U) == 0) return {};
  return fail("{} has {} dimensions, expected {} that are not 0", shown(tensor), shape.size(),
              fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most));
}

/// A dimension that two tensors share in turns, or one behind the other.
Result<std::uint64_t> half_of(const CheckpointTensor& tensor, std::size_t dim) {
  const std::uint64_t size = tensor.stored->shape[dim];
  if (size % 2 == 0) return size / 2;
  return fail("{} has dimension {} of {}, expected an even number for gate and up", shown(tensor), dim, size);
}

/// The name of the tensor beside the gate's.
std::string up_name(std::string name) { return name.replace(name.find("ffn_gate_"), 9, "ffn_up_"); }

void push(std::vector<NamedTensor>& out, std::string name, Dims dims, DType type,
          std::unique_ptr<const FolderTensor> data) {
  out.push_back({.name = std::move(name), .dims = std::move(dims), .type = type, .data = std::move(data)});
}

void push_numbers(std::vector<NamedTensor>& out, std::string name, Dims dims, std::vector<float> numbers) {
  push(out, std::move(name), std::move(dims), DType::kF32, std::make_unique<FolderNumbers>(std::move(numbers)));
}

}  // namespace

std::string shown(const CheckpointTensor& tensor) {
  return fmt::format("{}: tensor {}", tensor.file->file().path().string(), quote(tensor.stored->name));
}

Result<float> number_of(const CheckpointTensor& tensor) {
  OCTAVO_TRY(const DType type, type_of(tensor));
  if (tensor.stored->bytes != element_bytes(type))
    return fail("{} has {} bytes, expected one number", shown(tensor), tensor.stored->bytes);
  const StoredRows rows(std::vector{StoredSlice{tensor, 0, tensor.stored->bytes}}, PieceOrder{}, element_bytes(type));
  std::vector<std::byte> bytes(rows.bytes());
  OCTAVO_TRY_VOID(rows.read(0, bytes));
  float number = 0;
  dequantize(type, bytes.data(), std::span(&number, 1));
  return number;
}

Result<TensorMaker> TensorMaker::create(const Family& family, const JsonObject& config, Math math) {
  TensorMaker maker(family, math);
  maker.config_ = config;
  OCTAVO_TRY(maker.num_heads_, config.size(config.has("n_head") ? "n_head" : "num_attention_heads"));
  OCTAVO_TRY(const auto width, config.size_if("hidden_size"));
  maker.width_ = width.value_or(0);
  OCTAVO_TRY(const auto kv_heads, config.size_if("num_key_value_heads"));
  maker.num_kv_heads_ = kv_heads.value_or(maker.num_heads_);
  OCTAVO_TRY(const auto padding, config.size_if("pad_token_id"));
  maker.num_padding_rows_ = padding.value_or(0) + 1;
  OCTAVO_TRY(const auto groups, config.size_if(config.has("mamba_n_groups") ? "mamba_n_groups" : "n_groups"));
  maker.num_groups_ = groups.value_or(1);
  OCTAVO_TRY(const auto experts, config.size_if("num_local_experts"));
  maker.has_experts_ = experts.value_or(0) > 0;
  if (config.has("kv_lora_rank")) {
    constexpr std::string_view kPlain = "qk_nope_head_dim", kValue = "v_head_dim";
    OCTAVO_TRY(const std::uint64_t plain, config.size(kPlain));
    OCTAVO_TRY(const auto value, config.size_if(kValue));
    OCTAVO_TRY(maker.plain_dim_, check_head_length(config, kPlain, plain));
    OCTAVO_TRY(maker.value_dim_, check_head_length(config, kValue, value.value_or(0)));
  }
  if (!config.has("linear_num_key_heads")) return maker;
  DeltaHeads& delta = maker.delta_;
  OCTAVO_TRY(delta.num_keys, config.size("linear_num_key_heads"));
  OCTAVO_TRY(delta.num_values, config.size("linear_num_value_heads"));
  OCTAVO_TRY(delta.key_dim, config.size("linear_key_head_dim"));
  OCTAVO_TRY(delta.value_dim, config.size("linear_value_head_dim"));
  constexpr std::uint64_t kMost = 1 << 16;  // keeps products of three within 64 bits
  if (delta.num_keys == 0 || delta.num_values == 0 || delta.num_values % delta.num_keys != 0 ||
      delta.num_values > kMost || delta.key_dim > kMost || delta.value_dim > kMost)
    return fail("{} is {}, expected a multiple of {} key heads, and of all up to {}",
                config.place("linear_num_value_heads"), delta.num_values, delta.num_keys, kMost);
  return maker;
}

TensorMaker TensorMaker::of_tower(std::optional<std::uint64_t> heads, bool adds_one_to_norms) {
  static constexpr Family kPlain{.model = {}, .architecture = {}, .add_keys = nullptr};
  static constexpr Family kPaired{.model = {}, .architecture = {}, .add_keys = nullptr, .pairs_neighbours = true};
  static constexpr Family kShifted{.model = {}, .architecture = {}, .add_keys = nullptr, .adds_one_to_norms = true};
  OCTAVO_CHECK(!heads || !adds_one_to_norms, "a tower of both kinds");
  TensorMaker maker(heads ? kPaired : adds_one_to_norms ? kShifted : kPlain, Math());
  maker.num_heads_ = maker.num_kv_heads_ = heads.value_or(0);
  return maker;
}

/// Value heads take turns over the key heads; `unit` pieces belong to a head.
Result<TensorMaker::Move> TensorMaker::value_heads(const CheckpointTensor& tensor, std::uint64_t unit,
                                                   std::uint64_t kept) const {
  const std::uint64_t expected = kept + delta_.num_values * unit, rows = tensor.stored->shape.front();
  if (rows != expected || unit == 0) return fail("{} has {} rows, expected {}", shown(tensor), rows, expected);
  std::uint64_t piece = 1;
  for (std::size_t i = 1; i < tensor.stored->shape.size(); ++i) piece *= tensor.stored->shape[i];
  if (family_.keeps_value_heads) return Move{};
  const PieceOrder order{
      .first = delta_.num_keys, .second = delta_.num_values / delta_.num_keys, .unit = unit, .kept = kept};
  return Move{.order = order, .piece = piece};
}

Result<TensorMaker::Move> TensorMaker::move_of(const CheckpointTensor& tensor, const TensorPlace& place) const {
  const Dims& shape = tensor.stored->shape;
  const std::uint64_t keys = 2 * delta_.num_keys * delta_.key_dim;
  switch (place.form) {
    case TensorForm::kValueHeads:
      return value_heads(tensor, place.name.ends_with("attn_gate.weight") ? delta_.value_dim : 1, 0);
    case TensorForm::kDecay: return value_heads(tensor, 1, 0);
    case TensorForm::kValueHeadsBehindKeys:
    case TensorForm::kConvolution: return value_heads(tensor, delta_.value_dim, keys);
    case TensorForm::kTables: return Move{.order = {.first = shape[0], .second = shape[1]}, .piece = shape[2]};
    case TensorForm::kValueHeadColumns: {
      if (shape.back() != delta_.num_values * delta_.value_dim)
        return fail("{} has {} columns, expected {} heads of {}", shown(tensor), shape.back(), delta_.num_values,
                    delta_.value_dim);
      const PieceOrder order{.first = delta_.num_keys, .second = delta_.num_values / delta_.num_keys};
      return Move{.order = order, .piece = delta_.value_dim};
    }
    default: break;
  }
  const bool is_q = place.name.ends_with("attn_q.weight") || place.name.ends_with("attn_q.bias");
  const bool is_k = place.name.ends_with("attn_k.weight") || place.name.ends_with("attn_k.bias");
  if (!family_.pairs_neighbours || (!is_q && !is_k)) return Move{};
  // Where GGUF pairs neighbours, the two halves of each head of Q and K take turns.
  const std::uint64_t heads = is_q ? num_heads_ : num_kv_heads_, rows = shape.front();
  if (heads == 0 || rows % (2 * heads) != 0)
    return fail("{} has {} rows, expected an even number for each of {} heads", shown(tensor), rows, heads);
  return Move{.order = {.first = 2, .second = rows / heads / 2}, .piece = shape.size() == 1 ? 1 : shape[1]};
}

Result<std::vector<float>> TensorMaker::numbers_of(const CheckpointTensor& tensor, DType type,
                                                   const FolderTensor& data) {
  const std::uint64_t count = data.bytes() / element_bytes(type);
  if (count > kMaxNumbers) return fail("{} has {} elements, expected at most {}", shown(tensor), count, kMaxNumbers);
  num_numbers_ += count;
  if (num_numbers_ > kMaxNumbersInAll)
    return fail("{}: found {} elements up to this tensor that are kept as F32, expected at most {}", shown(tensor),
                num_numbers_, kMaxNumbersInAll);
  std::vector<std::byte> bytes(data.bytes());
  OCTAVO_TRY_VOID(data.read(0, bytes));
  std::vector<float> numbers(count);
  dequantize(type, bytes.data(), numbers);
  return numbers;
}

Result<std::vector<float>> TensorMaker::numbers_of(const CheckpointTensor& tensor) {
  OCTAVO_TRY(const DType type, type_of(tensor));
  return numbers_of(tensor, type, StoredRows({StoredSlice{tensor, 0, tensor.stored->bytes}}, {}, element_bytes(type)));
}

Result<void> TensorMaker::add_multiplied(const CheckpointTensor& tensor, const TensorPlace& place, const Move& move,
                                         std::vector<RowFactor> factors, std::vector<NamedTensor>& out) const {
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
  OCTAVO_TRY(const DType type, type_of(tensor));
  const std::uint64_t size = element_bytes(type), cols = tensor.stored->shape[1];
  push(out, place.name, {cols, tensor.stored->shape[0]}, type,
       std::make_unique<MultipliedRows>(tensor, move.order, move.piece * size, type, cols * size, std::move(factors)));
  return {};
}

Result<void> TensorMaker::add_moved(const CheckpointTensor& tensor, const TensorPlace& place, Dims dims,
                                    std::vector<NamedTensor>& out) {
  OCTAVO_TRY(const DType type, type_of(tensor));
  OCTAVO_TRY(const Move move, move_of(tensor, place));
  if (family_.row_factors != nullptr) {
    OCTAVO_TRY(std::vector<RowFactor> factors, family_.row_factors(*config_, place.name));
    if (!factors.empty()) return add_multiplied(tensor, place, move, std::move(factors), out);
  }
  auto data = std::make_unique<StoredRows>(std::vector{StoredSlice{tensor, 0, tensor.stored->bytes}}, move.order,
                                           move.piece * element_bytes(type));
  if (!is_converted(place.name, dims.size())) {
    push(out, place.name, std::move(dims), type, std::move(data));
    return {};
  }
  OCTAVO_TRY(std::vector<float> numbers, numbers_of(tensor, type, *data));
  const bool is_kept =
      place.name.ends_with("ssm_norm.weight") || (family_.keeps_last_norm && place.name == tensor_names::kOutputNorm);
  const bool is_shifted = family_.adds_one_to_norms && place.name.ends_with("norm.weight") && !is_kept;
  for (float& number : numbers) {
    if (is_shifted) number += 1;
    if (place.form == TensorForm::kDecay || place.form == TensorForm::kDecayColumn) number = -math_.exp(number);
  }
  push_numbers(out, place.name, std::move(dims), std::move(numbers));
  return {};
}

Result<void> TensorMaker::add(const CheckpointTensor& tensor, const TensorPlace& place, std::vector<NamedTensor>& out) {
  const Dims& shape = tensor.stored->shape;
  switch (place.form) {
    case TensorForm::kGateThenUp: return add_gate_then_up(tensor, place.name, out);
    case TensorForm::kGateThenUpOfEither:
      OCTAVO_TRY_VOID(check_dims(tensor, 3, 3));
      return shape[2] == width_ ? add_gate_then_up(tensor, place.name, out) : add_transposed(tensor, place, out);
    case TensorForm::kDownOfEither:
      OCTAVO_TRY_VOID(check_dims(tensor, 3, 3));
      if (shape[1] == width_) break;
      return add_transposed(tensor, place, out);
    case TensorForm::kTransposedGateAndUp:
    case TensorForm::kTransposedGateThenUp:
    case TensorForm::kTransposed: return add_transposed(tensor, place, out);
    case TensorForm::kColumn:
    case TensorForm::kDecayColumn:
    case TensorForm::kGroupNorm: return add_of_mamba(tensor, place, out);
    case TensorForm::kGateThenUpRows: return add_gate_then_up_rows(tensor, place.name, out);
    case TensorForm::kDownRows: {
      OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
      return add_moved(tensor, {.name = shared_name(place.name)}, {shape[1], shape[0]}, out);
    }
    case TensorForm::kKeysThenValues: return add_keys_then_values(tensor, place.name, out);
    case TensorForm::kByKeyHead: return add_by_key_head(tensor, place.name, out);
    case TensorForm::kGateAndUpBiases: return add_biases(tensor, place.name, out);
    case TensorForm::kBehindPadding: return add_behind_padding(tensor, place.name, out);
    case TensorForm::kNumbers: return add_numbers(tensor, place.name, out);
    case TensorForm::kPixelRows:
    case TensorForm::kPixels: return add_pixels(tensor, place, out);
    case TensorForm::kTables:
      OCTAVO_TRY_VOID(check_dims(tensor, 3, 3));
      if (shape[1] != 2) return fail("{} has {} tables, expected 2", shown(tensor), shape[1]);
      return add_moved(tensor, place, {shape[2], shape[0], shape[1]}, out);
    case TensorForm::kNumber: {
      OCTAVO_TRY(const float number, number_of(tensor));
      push_numbers(out, place.name, {1}, {number});
      return {};
    }
    case TensorForm::kQueriesKeysValues: return add_queries_keys_values(tensor, place.name, out);
    case TensorForm::kFrameRows: return add_frame_rows(tensor, place.name, out);
    case TensorForm::kFrames: return add_frames(tensor, place.name, out);
    case TensorForm::kConvolution:
    case TensorForm::kShortConvolution:
      OCTAVO_TRY_VOID(check_dims(tensor, 3, 3));
      if (shape[1] != 1) return fail("{} has {} channels a group, expected 1", shown(tensor), shape[1]);
      return add_moved(tensor, place, {shape[2], shape[0]}, out);
    case TensorForm::kVector:
      OCTAVO_TRY_VOID(check_dims(tensor, 1, 2));
      if (shape.size() == 2 && shape[0] != 1) return fail("{} has {} rows, expected 1", shown(tensor), shape[0]);
      return add_moved(tensor, place, {shape.back()}, out);
    default: break;
  }
  OCTAVO_TRY_VOID(check_dims(tensor, 1, place.name.contains("_exps.") ? 3 : 2));
  return add_moved(tensor, place, {shape.rbegin(), shape.rend()}, out);
}

Result<void> TensorMaker::add_rows(const CheckpointTensor& tensor, std::span<const std::uint64_t> rows,
                                   std::string name, std::vector<NamedTensor>& out) {
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
  OCTAVO_TRY(const DType type, type_of(tensor));
  const std::uint64_t cols = tensor.stored->shape[1], row_bytes = cols * element_bytes(type);
  std::vector<StoredSlice> slices;
  for (const std::uint64_t row : rows) {
    if (row >= tensor.stored->shape[0])
      return fail("{} has {} rows, expected more than {}", shown(tensor), tensor.stored->shape[0], row);
    slices.push_back({tensor, row * row_bytes, row_bytes});
  }
  push(out, std::move(name), {cols, rows.size()}, type,
       std::make_unique<StoredRows>(std::move(slices), PieceOrder{}, row_bytes));
  return {};
}

Result<void> TensorMaker::add_behind_padding(const CheckpointTensor& tensor, const std::string& name,
                                             std::vector<NamedTensor>& out) const {
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
  OCTAVO_TRY(const DType type, type_of(tensor));
  const std::uint64_t rows = tensor.stored->shape[0], cols = tensor.stored->shape[1];
  if (rows <= num_padding_rows_)
    return fail("{} has {} rows, expected more than {}: those in front are none of a text's positions", shown(tensor),
                rows, num_padding_rows_);
  const std::uint64_t row_bytes = cols * element_bytes(type), skipped = num_padding_rows_ * row_bytes;
  push(out, name, {cols, rows - num_padding_rows_}, type,
       std::make_unique<StoredRows>(std::vector{StoredSlice{tensor, skipped, tensor.stored->bytes - skipped}},
                                    PieceOrder{}, row_bytes));
  return {};
}

Result<void> TensorMaker::add_numbers(const CheckpointTensor& tensor, const std::string& name,
                                      std::vector<NamedTensor>& out) {
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 4));
  OCTAVO_TRY(std::vector<float> numbers, numbers_of(tensor));
  push_numbers(out, name, {tensor.stored->shape.rbegin(), tensor.stored->shape.rend()}, std::move(numbers));
  return {};
}

Result<void> TensorMaker::add_pixels(const CheckpointTensor& tensor, const TensorPlace& place,
                                     std::vector<NamedTensor>& out) {
  constexpr std::uint64_t kChannels = 3;
  const bool is_kernel = place.form == TensorForm::kPixelRows;
  OCTAVO_TRY_VOID(check_dims(tensor, is_kernel ? 2 : 1, 2));
  const Dims& shape = tensor.stored->shape;
  const std::uint64_t cols = shape.back(), pixels = cols / kChannels;
  const auto side = static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(pixels))));
  if (kChannels * side * side != cols)
    return fail("{} has {} columns, expected three for each pixel of a square", shown(tensor), cols);
  OCTAVO_TRY(const std::vector<float> numbers, numbers_of(tensor));
  std::vector<float> made(numbers.size());
  for (std::uint64_t i = 0; i < made.size(); ++i)
    made[i] = numbers[i / cols * cols + i % pixels * kChannels + i % cols / pixels];
  const Dims kernel = {side, side, kChannels, shape.front()};
  push_numbers(out, place.name, is_kernel ? kernel : Dims(shape.rbegin(), shape.rend()), std::move(made));
  return {};
}

Result<void> TensorMaker::add_queries_keys_values(const CheckpointTensor& tensor, const std::string& name,
                                                  std::vector<NamedTensor>& out) {
  OCTAVO_TRY_VOID(check_dims(tensor, 1, 2));
  OCTAVO_TRY(const DType type, type_of(tensor));
  const Dims& shape = tensor.stored->shape;
  if (shape[0] % 3 != 0) return fail("{} has {} rows, expected as many of Q, K and V", shown(tensor), shape[0]);
  const std::uint64_t part = tensor.stored->bytes / 3;
  for (std::size_t i = 0; i < 3; ++i) {
    std::string own = name;
    own.replace(own.find("qkv"), 3, 1, "qkv"[i]);
    auto data = std::make_unique<StoredRows>(std::vector{StoredSlice{tensor, i * part, part}}, PieceOrder{},
                                             element_bytes(type));
    if (shape.size() == 2) {
      push(out, std::move(own), {shape[1], shape[0] / 3}, type, std::move(data));
    } else {
      OCTAVO_TRY(std::vector<float> numbers, numbers_of(tensor, type, *data));
      push_numbers(out, std::move(own), {shape[0] / 3}, std::move(numbers));
    }
  }
  return {};
}

Result<void> TensorMaker::add_frame_rows(const CheckpointTensor& tensor, const std::string& name,
                                         std::vector<NamedTensor>& out) {
  constexpr std::uint64_t kFrames = 2, kChannels = 3;
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
  const std::uint64_t rows = tensor.stored->shape[0], cols = tensor.stored->shape[1], frame = cols / kFrames;
  const auto side = static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(frame / kChannels))));
  if (kFrames * kChannels * side * side != cols)
    return fail("{} has {} columns, expected those of {} squares in {} colours", shown(tensor), cols, kFrames,
                kChannels);
  OCTAVO_TRY(const std::vector<float> numbers, numbers_of(tensor));
  std::vector<float> kernel;
  kernel.reserve(to_size(rows * frame));
  for (std::uint64_t row = 0; row < rows; ++row)
    for (std::uint64_t i = 0; i < frame; ++i)
      kernel.push_back(numbers[to_size(row * cols + i)] + numbers[to_size(row * cols + frame + i)]);
  push_numbers(out, name, {side, side, kChannels, rows}, std::move(kernel));
  return {};
}

Result<void> TensorMaker::add_frames(const CheckpointTensor& tensor, const std::string& name,
                                     std::vector<NamedTensor>& out) {
  constexpr std::size_t kFrames = 2;
  OCTAVO_TRY_VOID(check_dims(tensor, 5, 5));
  const Dims& shape = tensor.stored->shape;
  if (shape[2] != kFrames) return fail("{} has kernels of {} frames, expected {}", shown(tensor), shape[2], kFrames);
  OCTAVO_TRY(const std::vector<float> numbers, numbers_of(tensor));
  const std::size_t plane = to_size(shape[3] * shape[4]);
  for (std::size_t frame = 0; frame < kFrames; ++frame) {
    std::vector<float> own;
    own.reserve(numbers.size() / kFrames);
    for (std::size_t i = frame * plane; i < numbers.size(); i += kFrames * plane)
      own.insert(own.end(), &numbers[i], &numbers[i] + plane);
    push_numbers(out, frame == 0 ? name : fmt::format("{}.{}", name, frame), {shape[4], shape[3], shape[1], shape[0]},
                 std::move(own));
  }
  return {};
}

Result<void> TensorMaker::add_gate_then_up(const CheckpointTensor& tensor, const std::string& name,
                                           std::vector<NamedTensor>& out) {
  OCTAVO_TRY_VOID(check_dims(tensor, 3, 3));
  OCTAVO_TRY(const DType type, type_of(tensor));
  OCTAVO_TRY(const std::uint64_t rows, half_of(tensor, 1));
  const std::uint64_t experts = tensor.stored->shape[0], cols = tensor.stored->shape[2];
  if (experts > kMostExperts)
    return fail("{} has {} experts, expected at most {}", shown(tensor), experts, kMostExperts);
  const std::uint64_t row_bytes = cols * element_bytes(type), matrix = rows * row_bytes;
  for (const bool is_up : {false, true}) {
    std::vector<StoredSlice> slices;
    slices.reserve(experts);
    for (std::uint64_t i = 0; i < experts; ++i) slices.push_back({tensor, (2 * i + (is_up ? 1 : 0)) * matrix, matrix});
    push(out, is_up ? up_name(name) : name, {cols, rows, experts}, type,
         std::make_unique<StoredRows>(std::move(slices), PieceOrder{}, row_bytes));
  }
  return {};
}

Result<void> TensorMaker::add_of_mamba(const CheckpointTensor& tensor, const TensorPlace& place,
                                       std::vector<NamedTensor>& out) {
  OCTAVO_TRY_VOID(check_dims(tensor, 1, 1));
  const std::uint64_t size = tensor.stored->shape[0], rows = place.form == TensorForm::kGroupNorm ? num_groups_ : size;
  if (rows == 0 || size % rows != 0)
    return fail("{} has {} elements, expected a multiple of {} groups", shown(tensor), size, rows);
  return add_moved(tensor, place, {size / rows, rows}, out);
}

std::string TensorMaker::shared_name(std::string name) const {
  if (!has_experts_) name.erase(name.find("_shexp"), std::string_view("_shexp").size());
  return name;
}

Result<void> TensorMaker::add_gate_then_up_rows(const CheckpointTensor& tensor, const std::string& name,
                                                std::vector<NamedTensor>& out) const {
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
  OCTAVO_TRY(const DType type, type_of(tensor));
  OCTAVO_TRY(const std::uint64_t rows, half_of(tensor, 0));
  const std::uint64_t cols = tensor.stored->shape[1], row_bytes = cols * element_bytes(type), half = rows * row_bytes;
  for (const bool is_up : {false, true})
    push(out, shared_name(is_up ? up_name(name) : name), {cols, rows}, type,
         std::make_unique<StoredRows>(std::vector{StoredSlice{tensor, is_up ? half : 0, half}}, PieceOrder{},
                                      row_bytes));
  return {};
}

Result<void> TensorMaker::add_transposed(const CheckpointTensor& tensor, const TensorPlace& place,
                                         std::vector<NamedTensor>& out) {
  OCTAVO_TRY_VOID(check_dims(tensor, 3, 3));
  OCTAVO_TRY(const DType type, type_of(tensor));
  const Dims& shape = tensor.stored->shape;
  if (place.form == TensorForm::kTransposed || place.form == TensorForm::kDownOfEither) {
    push(out, place.name, {shape[1], shape[2], shape[0]}, type,
         std::make_unique<TransposedExperts>(tensor, element_bytes(type), Turns{}));
    return {};
  }
  OCTAVO_TRY(const std::uint64_t rows, half_of(tensor, 2));
  const bool are_blocks =
      place.form == TensorForm::kGateThenUpOfEither || place.form == TensorForm::kTransposedGateThenUp;
  for (const std::uint64_t turn : {0U, 1U})
    push(out, turn == 0 ? place.name : up_name(place.name), {shape[1], rows, shape[0]}, type,
         std::make_unique<TransposedExperts>(tensor, element_bytes(type),
                                             Turns{.turn = turn, .of = 2, .are_blocks = are_blocks}));
  return {};
}

Result<void> TensorMaker::add_keys_then_values(const CheckpointTensor& tensor, const std::string& name,
                                               std::vector<NamedTensor>& out) const {
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
  OCTAVO_TRY(const DType type, type_of(tensor));
  const std::uint64_t rows = tensor.stored->shape[0], cols = tensor.stored->shape[1], step = plain_dim_ + value_dim_;
  constexpr std::uint64_t kMostHeads = 1 << 16;
  if (num_heads_ == 0 || num_heads_ > kMostHeads || plain_dim_ == 0 || value_dim_ == 0 || rows != num_heads_ * step)
    return fail("{} has {} rows, expected {} and {} for each of {} heads", shown(tensor), rows, plain_dim_, value_dim_,
                num_heads_);
  push(out, name, {plain_dim_, cols, num_heads_}, type,
       std::make_unique<TransposedExperts>(tensor, element_bytes(type),
                                           RowsOfEach{.count = num_heads_, .used = plain_dim_, .step = step}));
  const std::uint64_t row_bytes = cols * element_bytes(type);
  std::vector<StoredSlice> slices;
  slices.reserve(num_heads_);
  for (std::uint64_t head = 0; head < num_heads_; ++head)
    slices.push_back({tensor, (head * step + plain_dim_) * row_bytes, value_dim_ * row_bytes});
  std::string of_values = name;
  push(out, of_values.replace(name.find("attn_k_b"), 8, "attn_v_b"), {cols, value_dim_, num_heads_}, type,
       std::make_unique<StoredRows>(std::move(slices), PieceOrder{}, row_bytes));
  return {};
}

Result<void> TensorMaker::add_by_key_head(const CheckpointTensor& tensor, const std::string& name,
                                          std::vector<NamedTensor>& out) const {
  constexpr std::uint64_t kMostPieces = 1 << 16;
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
  OCTAVO_TRY(const DType type, type_of(tensor));
  const std::uint64_t rows = tensor.stored->shape[0], cols = tensor.stored->shape[1];
  const std::uint64_t keys = delta_.key_dim, values = delta_.num_values / delta_.num_keys * delta_.value_dim;
  const std::uint64_t group = 2 * (keys + values), expected = delta_.num_keys * group;
  if (keys == 0 || values == 0 || rows != expected)
    return fail("{} has {} rows, expected {}", shown(tensor), rows, expected);
  const std::uint64_t piece = std::gcd(keys, values);  // slices of a tensor are of one size
  if (rows / piece > kMostPieces)
    return fail("{} has {} pieces of {} rows, expected at most {}", shown(tensor), rows / piece, piece, kMostPieces);
  const std::uint64_t row_bytes = cols * element_bytes(type);
  const auto take = [&](std::vector<StoredSlice>& slices, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t head = 0; head < delta_.num_keys; ++head)
      for (std::uint64_t row = head * group + first, end = row + count; row < end; row += piece)
        slices.push_back({tensor, row * row_bytes, piece * row_bytes});
  };
  std::vector<StoredSlice> qkv, gate;
  take(qkv, 0, keys);
  take(qkv, keys, keys);
  take(qkv, 2 * keys, values);
  take(gate, 2 * keys + values, values);
  std::string gate_name = name;
  gate_name.replace(gate_name.find("attn_qkv"), std::string_view("attn_qkv").size(), "attn_gate");
  const std::uint64_t gate_rows = delta_.num_keys * values;
  push(out, name, {cols, rows - gate_rows}, type,
       std::make_unique<StoredRows>(std::move(qkv), PieceOrder{}, row_bytes));
  push(out, std::move(gate_name), {cols, gate_rows}, type,
       std::make_unique<StoredRows>(std::move(gate), PieceOrder{}, row_bytes));
  return {};
}

Result<void> TensorMaker::add_biases(const CheckpointTensor& tensor, const std::string& name,
                                     std::vector<NamedTensor>& out) {
  OCTAVO_TRY_VOID(check_dims(tensor, 2, 2));
  OCTAVO_TRY(const std::uint64_t rows, half_of(tensor, 1));
  OCTAVO_TRY(const std::vector<float> numbers, numbers_of(tensor));
  for (const std::size_t turn : {0U, 1U}) {
    std::vector<float> own;
    for (std::size_t i = turn; i < numbers.size(); i += 2) own.push_back(numbers[i]);
    push_numbers(out, turn == 0 ? name : up_name(name), {rows, tensor.stored->shape[0]}, std::move(own));
  }
  return {};
}

Result<void> TensorMaker::add_mxfp4(const CheckpointTensor& codes, const CheckpointTensor& scales,
                                    const TensorPlace& place, std::vector<NamedTensor>& out) {
  OCTAVO_TRY_VOID(check_dims(codes, 4, 4));
  const Dims& shape = codes.stored->shape;
  const Dims of_scales(shape.begin(), shape.end() - 1);
  if (shape[3] != Mxfp4Experts::kCodes / 2 || codes.stored->dtype != "U8")
    return fail("{}: expected blocks of {} bytes, U8", shown(codes), Mxfp4Experts::kCodes / 2);
  if (scales.stored->shape != of_scales || scales.stored->dtype != "U8")
    return fail("{}: expected one U8 for each block of {}", shown(scales), quote(codes.stored->name));
  const std::uint64_t cols = shape[2] * Mxfp4Experts::kCodes;
  if (place.form == TensorForm::kCodes) {
    push(out, place.name, {cols, shape[1], shape[0]}, DType::kMXFP4,
         std::make_unique<Mxfp4Experts>(codes, scales, Turns{}));
    return {};
  }
  OCTAVO_TRY(const std::uint64_t rows, half_of(codes, 1));
  for (const std::uint64_t turn : {0U, 1U})
    push(out, turn == 0 ? place.name : up_name(place.name), {cols, rows, shape[0]}, DType::kMXFP4,
         std::make_unique<Mxfp4Experts>(codes, scales, Turns{.turn = turn, .of = 2}));
  return {};
}

Result<void> TensorMaker::add_norms(const std::string& name, const std::vector<CheckpointTensor>& parts,
                                    std::vector<NamedTensor>& out) {
  const Dims& shape = parts.front().stored->shape;
  std::vector<float> all;
  for (const CheckpointTensor& part : parts) {
    if (part.stored->shape != shape) return fail("{} has another shape than that of head 0", shown(part));
    OCTAVO_TRY_VOID(check_dims(part, 1, 1));
    OCTAVO_TRY(const DType type, type_of(part));
    const StoredRows rows(std::vector{StoredSlice{part, 0, part.stored->bytes}}, PieceOrder{}, element_bytes(type));
    OCTAVO_TRY(const std::vector<float> numbers, numbers_of(part, type, rows));
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  push_numbers(out, name, {shape.front(), parts.size()}, std::move(all));
  return {};
}

Result<void> TensorMaker::add_experts(const std::string& name, const std::vector<CheckpointTensor>& parts,
                                      std::vector<NamedTensor>& out) {
  const StoredTensor* first = parts.front().stored;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].stored->shape != first->shape || parts[i].stored->dtype != first->dtype)
      return fail("{} has another shape or type than expert 0", shown(parts[i]));
  }
  OCTAVO_TRY_VOID(check_dims(parts.front(), 2, 2));
  OCTAVO_TRY(const DType type, type_of(parts.front()));
  std::vector<StoredSlice> slices;
  slices.reserve(parts.size());
  for (const CheckpointTensor& part : parts) slices.push_back({part, 0, part.stored->bytes});
  push(out, name, {first->shape[1], first->shape[0], parts.size()}, type,
       std::make_unique<StoredRows>(std::move(slices), PieceOrder{}, first->shape[1] * element_bytes(type)));
  return {};
}

}  // namespace octavo
