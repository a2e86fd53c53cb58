#include "engine/load/model_file.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "convert/type_mix.h"

namespace octavo {
namespace {

/// A value of general.file_type, and the name of its mix.
struct FileType {
  std::uint64_t number;
  std::string_view name;
};

// The numbers of llama.cpp (enum llama_ftype). Several mixes share a number in kMixes of type_mix.cc, and most of these
// can be read here and not written.
constexpr FileType kFileTypes[] = {
    {.number = 0, .name = "F32"},     {.number = 1, .name = "F16"},      {.number = 2, .name = "Q4_0"},
    {.number = 3, .name = "Q4_1"},    {.number = 7, .name = "Q8_0"},     {.number = 8, .name = "Q5_0"},
    {.number = 9, .name = "Q5_1"},    {.number = 10, .name = "Q2_K"},    {.number = 11, .name = "Q3_K_S"},
    {.number = 12, .name = "Q3_K_M"}, {.number = 13, .name = "Q3_K_L"},  {.number = 14, .name = "Q4_K_S"},
    {.number = 15, .name = "Q4_K_M"}, {.number = 16, .name = "Q5_K_S"},  {.number = 17, .name = "Q5_K_M"},
    {.number = 18, .name = "Q6_K"},   {.number = 19, .name = "IQ2_XXS"}, {.number = 20, .name = "IQ2_XS"},
    {.number = 21, .name = "Q2_K_S"}, {.number = 22, .name = "IQ3_XS"},  {.number = 23, .name = "IQ3_XXS"},
    {.number = 24, .name = "IQ1_S"},  {.number = 25, .name = "IQ4_NL"},  {.number = 26, .name = "IQ3_S"},
    {.number = 27, .name = "IQ3_M"},  {.number = 28, .name = "IQ2_S"},   {.number = 29, .name = "IQ2_M"},
    {.number = 30, .name = "IQ4_XS"}, {.number = 31, .name = "IQ1_M"},   {.number = 32, .name = "BF16"},
    {.number = 36, .name = "TQ1_0"},  {.number = 37, .name = "TQ2_0"},   {.number = 38, .name = "MXFP4"},
    {.number = 39, .name = "NVFP4"},  {.number = 40, .name = "Q1_0"},    {.number = 41, .name = "Q2_0"},
};

std::string_view type_of_most(const std::map<DType, std::uint64_t>& bytes) {
  const auto most = std::ranges::max_element(bytes, {}, &std::pair<const DType, std::uint64_t>::second);
  return most == bytes.end() ? std::string_view() : dtype_info(most->first).name;
}

/// The name of the mix that the file says it has; empty: none that is known.
std::string_view named_mix(const ModelSource& source) {
  const auto number = source.get_u64("general.file_type");
  if (!number) return {};
  const auto* const found = std::ranges::find(kFileTypes, *number, &FileType::number);
  return found == std::end(kFileTypes) ? std::string_view() : found->name;
}

}  // namespace

ModelFile model_file(const ModelSource& source, const ModelConfig& config, std::string_view quantize) {
  ModelFile file{.format = source.files().format == "GGUF" ? "gguf" : "safetensors",
                 .context_length = config.context_length,
                 .width = config.width};
  std::map<DType, std::uint64_t> bytes;
  for (const SourceTensor& entry : source.tensors()) {
    const Tensor& tensor = entry.tensor;
    file.num_weights += static_cast<std::uint64_t>(tensor.rows) * static_cast<std::uint64_t>(tensor.cols);
    file.weight_bytes += tensor.bytes();
    bytes[tensor.type] += tensor.bytes();
  }
  const auto mix = find_type_mix(quantize);
  const std::string_view named = named_mix(source);
  file.weight_type = mix ? mix->name : !named.empty() ? named : type_of_most(bytes);
  if (const auto vocabulary = source.get_string("tokenizer.ggml.model")) file.vocabulary = printable(*vocabulary);
  return file;
}

}  // namespace octavo
