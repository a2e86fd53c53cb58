#include "convert/type_plan.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/to_size.h"
#include "source/tensor_names.h"
#include "tensor/quantize.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxPatternBytes = 1024;
constexpr std::uint64_t kMaxRow = std::uint64_t{1} << 24;  // weights of a row; real ones have some ten thousand

/// The layer of a tensor; none for a tensor of no layer.
std::optional<std::uint64_t> layer_of(std::string_view name) {
  const auto of_layer = tensor_names::split(name);
  if (!of_layer) return std::nullopt;
  return static_cast<std::uint64_t>(of_layer->layer);
}

/// A number of the model's architecture, or the first number of a list; 0: it has none.
std::uint64_t number_of(const ModelSource& source, std::string_view suffix) {
  const auto architecture = source.get_string("general.architecture");
  if (!architecture) return 0;
  const std::string key = fmt::format("{}.{}", *architecture, suffix);
  if (const auto number = source.get_u64(key)) return *number;
  const auto numbers = source.get_i32_array(key);
  return numbers && !numbers->empty() && numbers->front() > 0 ? static_cast<std::uint64_t>(numbers->front()) : 0;
}

/// The rules of a mix for one model.
class MixRules {
 public:
  MixRules(const ModelSource& source, const TypeRequest& request) : request_(request) {
    for (const SourceTensor& tensor : source.tensors()) {
      if (tensor.name == tensor_names::kOutput) model_.has_output = true;
      if (const auto layer = layer_of(tensor.name); layer && is_value_tensor(tensor.name)) value_layers_.insert(*layer);
    }
    model_.num_layers = number_of(source, "block_count");
    model_.num_experts = number_of(source, "expert_count");
    model_.num_heads = number_of(source, "attention.head_count");
    model_.num_kv_heads = number_of(source, "attention.head_count_kv");
    model_.num_value_tensors = value_layers_.size();
  }

  DType type_of(const SourceTensor& tensor) const {
    const std::string name(tensor.name);
    for (const TypeOverride& given : request_.overrides)
      if (std::regex_search(name, given.regex)) return given.type;
    if (request_.pure) return request_.mix.base;
    const std::uint64_t layer = layer_of(tensor.name).value_or(0);
    const auto before = std::distance(value_layers_.begin(), value_layers_.lower_bound(layer));
    return mixed_type(
        request_.mix, model_,
        {.name = tensor.name, .cols = tensor.dims.front(), .layer = layer, .value_index = to_size(before)});
  }

 private:
  const TypeRequest& request_;
  MixModel model_;
  std::set<std::uint64_t> value_layers_;
};

Result<void> check_overrides(const ModelSource& source, const TypeRequest& request) {
  for (const TypeOverride& given : request.overrides) {
    const bool matches = std::ranges::any_of(source.tensors(), [&](const SourceTensor& tensor) {
      return takes_mix(tensor.name, tensor.dims.size()) && std::regex_search(std::string(tensor.name), given.regex);
    });
    if (!matches) return fail("{}: no tensor whose type can change has a name with '{}'", source.name(), given.pattern);
  }
  return {};
}

}  // namespace

Result<TypeOverride> TypeOverride::parse(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || text.size() > kMaxPatternBytes)
    return fail("found '{}', expected PATTERN=TYPE such as ffn_down=Q6_K", text);
  const std::string type = text.substr(equals + 1);
  const auto mix = find_type_mix(type);
  // A mix's name is not a type's, except for Q4_K and Q5_K, which name both.
  if (!mix || mix->name.ends_with("_M") || mix->name.ends_with("_S"))
    return fail("found type '{}', expected one of {}", type, written_dtype_names());
  std::string pattern = text.substr(0, equals);
  try {
    std::regex regex(pattern, std::regex::ECMAScript);
    return TypeOverride{std::move(pattern), std::move(regex), mix->base};
  } catch (const std::regex_error& error) {
    return fail("'{}' is no regular expression: {}", pattern, error.what());
  }
}

Result<std::vector<PlannedTensor>> plan_types(const ModelSource& source, const TypeRequest& request) {
  OCTAVO_TRY_VOID(check_overrides(source, request));
  const MixRules rules(source, request);
  std::vector<PlannedTensor> plan;
  plan.reserve(source.tensors().size());
  for (const SourceTensor& tensor : source.tensors()) {
    PlannedTensor planned{&tensor, tensor.tensor.type};
    const bool is_kept = request.keep_quantized && is_quantized(tensor.tensor.type);
    if (!is_kept && takes_mix(tensor.name, tensor.dims.size())) {
      const DType wanted = rules.type_of(tensor);
      planned.type = fitting_type(wanted, tensor.dims.front());
      planned.fell_back = planned.type != wanted;
    }
    plan.push_back(planned);
  }
  std::ranges::stable_sort(plan, {}, [](const PlannedTensor& planned) { return planned.tensor->offset; });
  return plan;
}

Result<void> check_change(const ModelSource& source, const PlannedTensor& planned, bool allow_requantize) {
  const Tensor& from = planned.tensor->tensor;
  if (planned.type == from.type) return {};
  const std::string_view found = dtype_info(from.type).name, wanted = dtype_info(planned.type).name;
  if (static_cast<std::uint64_t>(from.cols) > kMaxRow)
    return fail("{}: tensor {} has rows of {} weights, expected at most {}", source.name(), quote(planned.tensor->name),
                from.cols, kMaxRow);
  if (from.type == DType::kNVFP4)
    return fail("{}: tensor {} is NVFP4, whose scales lie in another tensor: it cannot become {}", source.name(),
                quote(planned.tensor->name), wanted);
  if (is_quantized(from.type) && !allow_requantize)
    return fail(
        "{}: tensor {} is {} already; making it {} loses more than quantizing the original would. "
        "`octavo quantize` does it with --allow-requantize",
        source.name(), quote(planned.tensor->name), found, wanted);
  return {};
}

}  // namespace octavo
