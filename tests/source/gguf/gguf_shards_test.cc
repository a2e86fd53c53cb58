// A model in several files is the model in one: same keys, same tensors, same bytes, whichever file is named. Files
// that are missing, and files that are of another model, are told apart.
#include "source/gguf/gguf_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/open_model.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kCount = 3, kTensorsOfEach = 2;

std::string shard_name(int number, int count = kCount) {
  return fmt::format("tiny-{:05}-of-{:05}.gguf", number, count);
}
std::string tensor_name(int shard, int i) { return fmt::format("blk.{}.t{}", shard, i); }
std::string tensor_bytes(int shard, int i) {
  return bytes_of(std::vector<float>(static_cast<std::size_t>(8 + 5 * i), static_cast<float>(10 * shard + i)));
}

struct Shard {
  int number = 1;  // from 1
  int count = kCount;
  int num_tensors = kCount * kTensorsOfEach;
  int tensors_of = 0;  // the shard whose tensors it has; 0: its own
  const char* architecture = nullptr;
};

std::string bytes_of_shard(const Shard& shard) {
  GgufWriter writer;
  if (shard.number == 1) writer.add("general.architecture", "llama").add("llama.block_count", 2U);
  if (shard.architecture != nullptr) writer.add("general.architecture", shard.architecture);
  writer.add("split.no", static_cast<std::uint16_t>(shard.number - 1));
  writer.add("split.count", static_cast<std::uint16_t>(shard.count));
  writer.add("split.tensors.count", std::int32_t{shard.num_tensors});
  const int from = shard.tensors_of == 0 ? shard.number : shard.tensors_of;
  for (int i = 0; i < kTensorsOfEach; ++i) {
    const std::string data = tensor_bytes(from, i);
    writer.add_tensor(tensor_name(from, i), {data.size() / sizeof(float)}, DType::kF32, data);
  }
  return writer.bytes();
}

/// Three shards in a folder.
class Shards {
 public:
  Shards() {
    for (int number = 1; number <= kCount; ++number) write({.number = number});
  }
  void write(const Shard& shard) const { folder_.write(shard_name(shard.number), bytes_of_shard(shard)); }
  std::filesystem::path path(int number) const { return folder_.path() / shard_name(number); }
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::string error(int named = 1) const {
    const auto source = open_model(path(named));
    return source ? "no error" : source.error().message;
  }

 private:
  TempFolder folder_;
};

TEST(GgufShards, AnyShardThatIsNamedOpensTheModel) {
  const Shards shards;
  for (int named = 1; named <= kCount; ++named) {
    const auto opened = open_model(shards.path(named));
    ASSERT_TRUE(opened) << opened.error().message;
    const ModelSource& source = **opened;
    EXPECT_EQ(source.files().path, shards.path(1));
    EXPECT_EQ(source.files().num_files, 3U);
    EXPECT_EQ(source.get_string("general.architecture"), "llama");
    EXPECT_EQ(source.get_u32("llama.block_count"), 2U);
    EXPECT_EQ(source.tensors().size(), 6U);
    EXPECT_EQ(source.heads().size(), 3U);
    std::uint64_t bytes = 0;
    for (int number = 1; number <= kCount; ++number) bytes += std::filesystem::file_size(shards.path(number));
    EXPECT_EQ(source.files().bytes, bytes);
  }
}

TEST(GgufShards, EveryTensorIsReadAndMappedWhereItLies) {
  const Shards shards;
  const auto source = open_model(shards.path(2)).value();
  std::uint64_t last = 0;
  for (int shard = 1; shard <= kCount; ++shard)
    for (int i = 0; i < kTensorsOfEach; ++i) {
      const SourceTensor* tensor = source->find_tensor(tensor_name(shard, i));
      ASSERT_NE(tensor, nullptr);
      EXPECT_GT(tensor->offset, last) << "offsets count through the files";
      last = tensor->offset;
      const std::string expected = tensor_bytes(shard, i);
      const auto mapped = tensor->tensor.data;
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped.data()), mapped.size()), expected);
      std::string read(expected.size(), '\0');
      ASSERT_TRUE(source->read(tensor->offset, std::as_writable_bytes(std::span(read))));
      EXPECT_EQ(read, expected);
    }
}

TEST(GgufShards, BytesAreThoseOfTheFilesOneBehindAnother) {
  const Shards shards;
  std::string all;
  for (int number = 1; number <= kCount; ++number) all += bytes_of_shard({.number = number});
  const auto source = open_model(shards.path(1)).value();
  const std::size_t first = bytes_of_shard({.number = 1}).size();
  for (const std::size_t begin : {std::size_t{0}, first - 1, first, first + 7, all.size() - 1}) {
    std::string read(std::min<std::size_t>(all.size() - begin, first), '\0');
    ASSERT_TRUE(source->read(begin, std::as_writable_bytes(std::span(read))));
    EXPECT_EQ(read, all.substr(begin, read.size())) << begin;
  }
  std::string beyond(2, '\0');
  EXPECT_THAT(source->read(all.size() - 1, std::as_writable_bytes(std::span(beyond))).error().message,
              HasSubstr("2 bytes at offset"));
  source->prefetch(all.size() + 1, 1);  // nothing is there
}

TEST(GgufShards, MissingOnesAreNamed) {
  const Shards shards;
  std::filesystem::remove(shards.path(1));
  std::filesystem::remove(shards.path(3));
  EXPECT_THAT(shards.error(2), AllOf(HasSubstr("2 of the model's 3 shards are missing"), HasSubstr(shard_name(1)),
                                     HasSubstr(shard_name(3)), Not(HasSubstr("foreign"))));
}

TEST(GgufShards, ForeignOnesAreToldBySeveralSigns) {
  const auto with = [](const Shard& foreign) {
    const Shards shards;
    shards.write(foreign);
    return shards.error();
  };
  EXPECT_THAT(with({.number = 2, .count = 4}), AllOf(HasSubstr(shard_name(2)), HasSubstr("foreign shard"),
                                                     HasSubstr("one of 4"), HasSubstr("expected one of 3")));
  EXPECT_THAT(with({.number = 3, .num_tensors = 90}), AllOf(HasSubstr("foreign shard"), HasSubstr("90 tensors")));
  EXPECT_THAT(with({.number = 2, .tensors_of = 1}), AllOf(HasSubstr("foreign shard"), HasSubstr("'blk.1.t0'")));
  EXPECT_THAT(with({.number = 2, .architecture = "gemma3"}), AllOf(HasSubstr("foreign shard"), HasSubstr("'gemma3'")));
  const Shards shards;
  std::filesystem::copy_file(shards.path(3), shards.path(2), std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(shards.error(), AllOf(HasSubstr("foreign shard"), HasSubstr("number 3 of 3"), HasSubstr("number 2")));
}

TEST(GgufShards, FewerTensorsThanTheyAgreedOnAreAnError) {
  const Shards shards;
  for (int number = 1; number <= kCount; ++number) shards.write({.number = number, .num_tensors = 7});
  EXPECT_THAT(shards.error(), AllOf(HasSubstr("6 tensors together"), HasSubstr("expected 7")));
}

TEST(GgufShards, ANameThatDoesNotTellWhereTheOthersAreIsRefused) {
  const Shards shards;
  const std::filesystem::path renamed = shards.folder() / "blob";
  std::filesystem::rename(shards.path(2), renamed);
  EXPECT_THAT(open_model(renamed).error().message, AllOf(HasSubstr("shard 2 of 3"), HasSubstr("-00002-of-00003.gguf")));
  const std::filesystem::path wrong = shards.folder() / shard_name(2, 4);
  std::filesystem::rename(renamed, wrong);
  EXPECT_THAT(open_model(wrong).error().message, AllOf(HasSubstr("shard 2 of 4"), HasSubstr("shard 2 of 3")));
}

TEST(GgufShards, ABrokenOneIsNamed) {
  const Shards shards;
  std::filesystem::resize_file(shards.path(3), 40);
  EXPECT_THAT(shards.error(), AllOf(HasSubstr(shard_name(3)), HasSubstr("truncated")));
}

TEST(GgufShards, AWrongCountIsRefusedBeforeAnyFileIsLookedFor) {
  const Shards shards;
  shards.write({.number = 1, .count = 60000});
  EXPECT_THAT(shards.error(), AllOf(HasSubstr("split.count is 60000"), HasSubstr("at most 512")));
}

}  // namespace
}  // namespace octavo::test
