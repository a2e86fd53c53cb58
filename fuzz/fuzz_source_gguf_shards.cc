// Files that say they are shards, with keys and tensors of any numbers: they are one model or an error. The tensors of
// a model lie one behind another in its row of bytes, and reading them gives what the map shows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "fuzz_bytes.h"
#include "source/gguf/gguf_shards.h"
#include "support/gguf_writer.h"

namespace octavo {
namespace {

/// Mostly the right number.
std::uint16_t near(Bytes& in, int right) { return static_cast<std::uint16_t>(in.below(16) > 0 ? right : in.number()); }

std::string shard(Bytes& in, int index, int count, int num_tensors) {
  test::GgufWriter writer;
  if (in.below(16) > 0) writer.add("split.no", near(in, index));
  if (in.below(16) > 0) writer.add("split.count", near(in, count));
  if (in.below(16) > 0) writer.add("split.tensors.count", std::int32_t{near(in, num_tensors * count)});
  if (index == 0 || in.below(4) == 0) writer.add("general.architecture", in.below(16) > 0 ? "llama" : "other");
  for (int i = 0; i < num_tensors; ++i)
    writer.add_tensor(fmt::format("t{}", near(in, index * num_tensors + i) % 64), {4}, DType::kF32,
                      std::string(16, static_cast<char>(in.next())));
  return writer.bytes();
}

void check(const GgufShards& model) {
  std::uint64_t end = 0;
  for (const SourceTensor& tensor : model.tensors()) {
    FUZZ_CHECK(tensor.offset >= end);
    end = tensor.offset + tensor.tensor.data.size();
    FUZZ_CHECK(end <= model.files().bytes);
    std::vector<std::byte> read(tensor.tensor.data.size());
    FUZZ_CHECK(model.read(tensor.offset, read).has_value());
    FUZZ_CHECK(std::ranges::equal(read, tensor.tensor.data));
    FUZZ_CHECK(model.find_tensor(tensor.name) == &tensor);
  }
  std::vector<std::byte> all(model.files().bytes);
  FUZZ_CHECK(model.read(0, all).has_value());
  FUZZ_CHECK(!model.read(1, all).has_value());
}

}  // namespace
}  // namespace octavo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo;
  Bytes in({data, size});
  const int count = 1 + in.below(5), num_tensors = in.below(4);
  std::deque<std::vector<std::uint64_t>> kept;  // aligned as maps are
  std::vector<GgufFile> files;
  for (int i = 0; i < count; ++i) {
    const std::string bytes = shard(in, i, count, num_tensors);
    std::vector<std::uint64_t>& place = kept.emplace_back((bytes.size() + 7) / 8);
    std::ranges::copy(bytes, reinterpret_cast<char*>(place.data()));
    auto file = GgufFile::parse(std::as_bytes(std::span(place)).first(bytes.size()), "fuzz");
    if (!file) return 0;
    files.push_back(std::move(*file));
  }
  const auto model = GgufShards::join(std::move(files));
  if (!model) {
    FUZZ_CHECK(!model.error().message.empty());
    return 0;
  }
  check(*model);
  return 0;
}
