// Any bytes as the header of a safetensors file: they give tensors whose bytes lie in the file and apart from each
// other, or an error.
#include <cstddef>
#include <cstdint>

#include "fuzz_bytes.h"
#include "source/folder/safetensors_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view header(reinterpret_cast<const char*>(data), size);
  const std::uint64_t begin = 8 + size, end = begin + 4096;
  const auto tensors = octavo::parse_safetensors_header(header, begin, end, "fuzz");
  if (!tensors) {
    FUZZ_CHECK(!tensors.error().message.empty());
    return 0;
  }
  std::uint64_t at = begin;
  for (const octavo::StoredTensor& tensor : *tensors) {
    FUZZ_CHECK(tensor.offset >= at);
    at = tensor.offset + tensor.bytes;
    FUZZ_CHECK(at <= end);
  }
  return 0;
}
