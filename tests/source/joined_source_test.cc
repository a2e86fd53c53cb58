#include "source/joined_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/memory_source.h"

namespace octavo {
namespace {

using test::MemorySource;

/// A source whose files have bytes of their own behind the tensors, as a file's padding.
class PaddedSource : public MemorySource {
 public:
  PaddedSource(MemorySource source, const char* path, std::uint64_t padding)
      : MemorySource(std::move(source)), files_(MemorySource::files()) {
    files_.path = path;
    head_ = std::string("head of ") + path;
    files_.bytes += padding;
    files_.num_files = 2;
    files_.modified_ns = static_cast<std::int64_t>(padding);
  }

  const SourceFiles& files() const override { return files_; }
  std::vector<std::span<const std::byte>> heads() const override { return {std::as_bytes(std::span(head_))}; }
  void prefetch(std::uint64_t offset, std::uint64_t size) const override {
    hints_->prefetched.emplace_back(offset, size);
  }
  void drop(std::uint64_t offset, std::uint64_t size) const override { hints_->dropped.emplace_back(offset, size); }
  /// What it was told will be read, and will not.
  struct Hints {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> prefetched, dropped;
  };
  std::shared_ptr<const Hints> hints() const { return hints_; }

 private:
  SourceFiles files_;
  std::string head_;
  std::shared_ptr<Hints> hints_ = std::make_shared<Hints>();
};

std::string floats(std::size_t count, char byte) { return std::string(4 * count, byte); }

MemorySource model_source() {
  MemorySource source;
  source.add("general.name", "model").add("layers", 2U);
  source.add_tensor("embedding", {4}, DType::kF32, floats(4, 'e'));
  source.add_tensor("blk.2.norm", {2}, DType::kF32, floats(2, 'm'));
  source.add_tensor("output", {3}, DType::kF32, floats(3, 'o'));
  return source;
}

MemorySource head_source() {
  MemorySource source;
  source.add("general.name", "head").add("layers", 3U).add("of_head", true);
  source.add_tensor("embedding", {4}, DType::kF32, floats(4, 'x'));
  source.add_tensor("blk.2.norm", {2}, DType::kF32, floats(2, 'h'));
  source.add_tensor("blk.2.projection", {5}, DType::kF32, floats(5, 'p'));
  return source;
}

bool is_of_head(std::string_view tensor) { return tensor.starts_with("blk.2."); }

class JoinedSourceTest : public testing::Test {
 protected:
  std::string text_of(const char* tensor) const {
    const SourceTensor* found = joined_.find_tensor(tensor);
    if (found == nullptr) return "none";
    std::string bytes(found->tensor.bytes(), '?');
    const Result<void> read = joined_.read(found->offset, std::as_writable_bytes(std::span(bytes)));
    return read ? bytes : read.error().message;
  }

  PaddedSource model_{model_source(), "model.gguf", 7};
  MemorySource head_ = head_source();  // as the other one is
  std::unique_ptr<PaddedSource> other_ = std::make_unique<PaddedSource>(head_source(), "head.gguf", 9);
  std::shared_ptr<const PaddedSource::Hints> hints_ = other_->hints();
  JoinedSource joined_{model_, std::move(other_), is_of_head};
};

TEST_F(JoinedSourceTest, TensorsOfTheHeadAreTheOtherFilesAndAllElseTheModels) {
  EXPECT_EQ(joined_.tensors().size(), 4U);
  EXPECT_EQ(text_of("embedding"), floats(4, 'e'));
  EXPECT_EQ(text_of("output"), floats(3, 'o'));
  EXPECT_EQ(text_of("blk.2.norm"), floats(2, 'h')) << "it takes the place of the model's own";
  EXPECT_EQ(text_of("blk.2.projection"), floats(5, 'p'));
}

TEST_F(JoinedSourceTest, KeysAreTheModels) {
  EXPECT_EQ(joined_.get_string("general.name").value(), "model");
  EXPECT_EQ(joined_.get_u32("layers").value(), 2U);
  EXPECT_EQ(joined_.find("of_head"), nullptr);
}

TEST_F(JoinedSourceTest, BytesOfBothAreOneRow) {
  const SourceFiles& files = joined_.files();
  EXPECT_EQ(files.path, "model.gguf with head.gguf");
  EXPECT_EQ(files.bytes, model_.files().bytes + head_.files().bytes + 9);
  EXPECT_EQ(files.num_files, 4U);
  EXPECT_EQ(files.modified_ns, 9) << "the newest";
  EXPECT_EQ(joined_.find_tensor("output")->offset, model_.find_tensor("output")->offset);
  EXPECT_EQ(joined_.find_tensor("blk.2.norm")->offset, model_.files().bytes + head_.find_tensor("blk.2.norm")->offset);
}

TEST_F(JoinedSourceTest, HeadsAreThoseOfBothSoThatTheHashTellsDraftFilesApart) {
  std::vector<std::string> heads;
  for (const std::span<const std::byte> head : joined_.heads())
    heads.emplace_back(reinterpret_cast<const char*>(head.data()), head.size());
  EXPECT_THAT(heads, testing::ElementsAre("head of model.gguf", "head of head.gguf"));
}

TEST_F(JoinedSourceTest, HintsGoToTheFileThatHasTheBytes) {
  const std::uint64_t of_model = joined_.find_tensor("output")->offset;
  const std::uint64_t of_head = joined_.find_tensor("blk.2.projection")->offset;
  const std::uint64_t in_head = head_.find_tensor("blk.2.projection")->offset;
  joined_.prefetch(of_model, 12);
  joined_.prefetch(of_head, 20);
  joined_.drop(of_head, 8);
  joined_.drop(of_model, 4);
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(model_.hints()->prefetched, (Ranges{{of_model, 12}}));
  EXPECT_EQ(model_.hints()->dropped, (Ranges{{of_model, 4}}));
  EXPECT_EQ(hints_->prefetched, (Ranges{{in_head, 20}}));
  EXPECT_EQ(hints_->dropped, (Ranges{{in_head, 8}}));
}

}  // namespace
}  // namespace octavo
