// Any bytes as a manifest of ollama's: they give the hash of a file, which is a file's name, or an error.
#include <cstddef>
#include <cstdint>

#include "fuzz_bytes.h"
#include "hub/digest.h"
#include "hub/ollama.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo::hub;
  const auto hash = parse_ollama_manifest({reinterpret_cast<const char*>(data), size});
  if (hash) {
    FUZZ_CHECK(hash_of_etag(*hash) == *hash);
    FUZZ_CHECK(hash->size() == 64);
  } else {
    FUZZ_CHECK(!hash.error().message.empty());
  }
  return 0;
}
