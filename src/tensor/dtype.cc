#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/joined.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::array<DTypeInfo, kNumDTypes> kTable = {{
    {DType::kF32, "F32", 1, 4},
    {DType::kF16, "F16", 1, 2},
    {DType::kBF16, "BF16", 1, 2},
    {DType::kQ4_0, "Q4_0", 32, 18},
    {DType::kQ4_1, "Q4_1", 32, 20},
    {DType::kQ5_0, "Q5_0", 32, 22},
    {DType::kQ5_1, "Q5_1", 32, 24},
    {DType::kQ8_0, "Q8_0", 32, 34},
    {DType::kQ2_K, "Q2_K", 256, 84},
    {DType::kQ3_K, "Q3_K", 256, 110},
    {DType::kQ4_K, "Q4_K", 256, 144},
    {DType::kQ5_K, "Q5_K", 256, 176},
    {DType::kQ6_K, "Q6_K", 256, 210},
    {DType::kIQ4_NL, "IQ4_NL", 32, 18},
    {DType::kIQ4_XS, "IQ4_XS", 256, 136},
    {DType::kTQ1_0, "TQ1_0", 256, 54},
    {DType::kTQ2_0, "TQ2_0", 256, 66},
    {DType::kMXFP4, "MXFP4", 32, 17},
    {DType::kQ1_0, "Q1_0", 128, 18},
    {DType::kIQ2_XXS, "IQ2_XXS", 256, 66},
    {DType::kIQ2_XS, "IQ2_XS", 256, 74},
    {DType::kIQ2_S, "IQ2_S", 256, 82},
    {DType::kIQ3_XXS, "IQ3_XXS", 256, 98},
    {DType::kIQ3_S, "IQ3_S", 256, 110},
    {DType::kIQ1_S, "IQ1_S", 256, 50},
    {DType::kIQ1_M, "IQ1_M", 256, 56},
    {DType::kNVFP4, "NVFP4", 64, 36},
    {DType::kQ2_0, "Q2_0", 64, 18},
}};

// Names of the ids that Octavo does not read, so that an error can say which one was found. Ids from 133 on are written
// by forks of llama.cpp alone: 142 and 143 by PrismML's, the others by ik_llama.cpp.
constexpr std::pair<std::uint32_t, std::string_view> kOtherNames[] = {
    {4, "Q4_2"},     {5, "Q4_3"},      {9, "Q8_1"},     {15, "Q8_K"},     {24, "I8"},       {25, "I16"},
    {26, "I32"},     {27, "I64"},      {28, "F64"},     {31, "Q4_0_4_4"}, {32, "Q4_0_4_8"}, {33, "Q4_0_8_8"},
    {36, "I2_S"},    {133, "Q6_0"},    {134, "IQ1_BN"}, {135, "IQ2_BN"},  {137, "IQ2_K"},   {138, "IQ3_K"},
    {139, "IQ4_K"},  {140, "IQ5_K"},   {141, "IQ6_K"},  {142, "PQ2_0"},   {143, "PTQ1_0"},  {144, "IQ4_KS"},
    {145, "IQ2_KS"}, {146, "IQ4_KSS"}, {152, "IQ5_KS"}, {153, "IQ2_KT"},  {154, "IQ3_KT"},  {155, "IQ4_KT"},
    {156, "IQ3_KS"}, {157, "IQ2_KL"},  {158, "IQ1_KT"},
};

/// The ids of types whose models rotate their activations: to read the weights would not be enough.
constexpr std::uint32_t kRotated[] = {142, 143};

}  // namespace

int dtype_index(DType type) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kAllDTypes[i] == type) return i;
  check_failed("supported dtype", __FILE__, __LINE__, fmt::format("id {}", static_cast<std::uint32_t>(type)));
}

const DTypeInfo& dtype_info(DType type) { return kTable[to_size(dtype_index(type))]; }

std::optional<DType> dtype_from_id(std::uint32_t id) {
  for (const DTypeInfo& row : kTable)
    if (static_cast<std::uint32_t>(row.type) == id) return row.type;
  return std::nullopt;
}

std::string_view dtype_name_of_id(std::uint32_t id) {
  if (const auto type = dtype_from_id(id)) return dtype_info(*type).name;
  for (const auto& [other, name] : kOtherNames)
    if (other == id) return name;
  return "unknown";
}

std::string_view dtype_reason_of_id(std::uint32_t id) {
  if (std::ranges::find(kRotated, id) == std::end(kRotated)) return "";
  return ", as models of it rotate their activations by a Hadamard transform (prism.hadamard)";
}

std::string supported_dtype_names() { return joined(kTable, &DTypeInfo::name); }

std::optional<std::uint64_t> dtype_bytes(DType type, std::uint64_t num_elements) {
  const DTypeInfo& info = dtype_info(type);
  const auto per_block = static_cast<std::uint64_t>(info.block_elements);
  const auto block_bytes = static_cast<std::uint64_t>(info.block_bytes);
  if (num_elements % per_block != 0) return std::nullopt;
  const std::uint64_t blocks = num_elements / per_block;
  if (blocks > std::numeric_limits<std::uint64_t>::max() / block_bytes) return std::nullopt;
  return blocks * block_bytes;
}

}  // namespace octavo
