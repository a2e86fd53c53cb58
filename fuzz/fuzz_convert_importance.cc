// Any bytes as a file of importance in the older form: they give positive numbers for tensors, or an error.
#include <cstddef>
#include <cstdint>

#include "convert/importance.h"
#include "fuzz_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto importance =
      octavo::Importance::parse_dat({reinterpret_cast<const std::byte*>(data), size}, "imatrix.dat");
  if (!importance) {
    FUZZ_CHECK(!importance.error().message.empty());
    return 0;
  }
  FUZZ_CHECK(importance->num_tensors() > 0);
  const octavo::SourceTensor tensor{.name = "a", .dims = {1}};
  if (const auto values = importance->of(tensor); values && !values->empty()) FUZZ_CHECK(values->front() > 0);
  return 0;
}
