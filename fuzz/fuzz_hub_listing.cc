// Any bytes as the hub's list of files: they give a list or an error. Whatever is in a list may be fetched: its path
// stays in a folder, its hash is a file's name; and choosing among the paths gives some of them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz_bytes.h"
#include "hub/digest.h"
#include "hub/file_choice.h"
#include "hub/listing.h"
#include "hub/model_ref.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo::hub;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto ref = ModelRef::parse(text)) {
    FUZZ_CHECK(ref->text() == text);
    FUZZ_CHECK(is_safe_path(ref->repo));
  }
  const auto listing = parse_listing(text);
  if (!listing) {
    FUZZ_CHECK(!listing.error().message.empty());
    return 0;
  }
  FUZZ_CHECK(hash_of_etag(listing->commit) == listing->commit);
  std::vector<std::string> paths;
  for (const RepoFile& file : listing->files) {
    FUZZ_CHECK(is_safe_path(file.path));
    FUZZ_CHECK(hash_of_etag(file.hash) == file.hash);
    FUZZ_CHECK(file.size <= ListingLimits::kFileBytes);
    paths.push_back(file.path);
  }
  for (const char* wanted : {"", "q4_0", "m.gguf"})
    if (const auto chosen = choose_files(paths, wanted))
      for (const std::size_t i : *chosen) FUZZ_CHECK(i < paths.size());
  return 0;
}
