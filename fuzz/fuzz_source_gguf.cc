// Any bytes as a GGUF file: they give a file or an error. What was accepted is read through, value by value and tensor
// by tensor, so that a view past the end is seen by the sanitizer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <variant>
#include <vector>

#include "source/gguf/gguf_file.h"
#include "tensor/dequantize.h"

namespace {

void read_array(const octavo::MetadataArray& array, std::size_t& sum) {
  for (std::uint64_t i = 0; i < array.size; ++i) {
    const octavo::MetadataValue element = octavo::element_of(array, i);
    if (const auto* inner = std::get_if<octavo::MetadataArray>(&element.value)) read_array(*inner, sum);
    if (const auto* text = std::get_if<std::string_view>(&element.value))
      for (const char c : *text) sum += static_cast<std::size_t>(c);
  }
}

void read_tensor(const octavo::Tensor& tensor, std::size_t& sum) {
  std::vector<float> row(static_cast<std::size_t>(tensor.cols));
  for (std::int64_t r = 0; r < tensor.rows; ++r) {
    octavo::dequantize(tensor.type, tensor.row(r), row);
    sum += row.back() > 0 ? 1 : 0;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = octavo::GgufFile::parse({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
  if (!file) {
    if (file.error().message.empty()) std::abort();  // every refusal gives its reason
    return 0;
  }
  std::size_t sum = 0;
  for (const auto& [key, value] : file->metadata()) {
    if (file->find(key) != &value) std::abort();
    if (const auto* array = std::get_if<octavo::MetadataArray>(&value.value)) read_array(*array, sum);
    // The typed look-ups take any key.
    sum += file->get_u32(key).has_value() + file->get_f32(key).has_value() + file->get_i32_array(key).has_value() +
           file->get_f32_array(key).has_value() + file->get_strings(key).has_value();
  }
  for (const octavo::SourceTensor& tensor : file->tensors()) read_tensor(tensor.tensor, sum);
  volatile std::size_t sink = sum;
  static_cast<void>(sink);
  return 0;
}
