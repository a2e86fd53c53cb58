#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "support/temp_folder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class OutputFileTest : public testing::Test {
 protected:
  test::TempFolder folder_;
  fs::path path_ = folder_.path() / "out";
  fs::path partial_ = folder_.path() / "out.partial";
};

TEST_F(OutputFileTest, HasItsNameWhenItIsFinished) {
  auto file = OutputFile::create(path_, 6, false);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->append(bytes_of("abc")));
  ASSERT_TRUE(file->append(bytes_of("def")));
  EXPECT_EQ(file->size(), 6U);
  EXPECT_FALSE(fs::exists(path_));
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(content_of(path_), "abcdef");
  EXPECT_FALSE(fs::exists(partial_));
}

TEST_F(OutputFileTest, LeavesNothingUnlessItIsFinished) {
  {
    ASSERT_TRUE(OutputFile::create(path_, 6, false)->append(bytes_of("abc")));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(OutputFileTest, BeginsAnewWhereAnEarlierAttemptWasKilled) {
  folder_.write("out.partial", "left by a program that was killed");
  auto file = OutputFile::create(path_, 3, false);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->append(bytes_of("abc")));
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(content_of(path_), "abc");
}

TEST_F(OutputFileTest, ReplacesAFileOnlyIfAsked) {
  folder_.write("out", "precious");
  const auto refused = OutputFile::create(path_, 3, false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--force"), std::string::npos) << refused.error().message;
  auto file = OutputFile::create(path_, 3, true);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->append(bytes_of("abc")));
  EXPECT_EQ(content_of(path_), "precious");
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(content_of(path_), "abc");
}

TEST_F(OutputFileTest, DoesNotReplaceAFileThatCameMeanwhile) {
  auto file = OutputFile::create(path_, 3, false);
  ASSERT_TRUE(file) << file.error().message;
  folder_.write("out", "precious");
  EXPECT_FALSE(file->finish());
  EXPECT_EQ(content_of(path_), "precious");
}

TEST_F(OutputFileTest, ReplacesNoFolder) {
  fs::create_directory(path_);
  EXPECT_FALSE(OutputFile::create(path_, 3, true));
}

TEST_F(OutputFileTest, SaysThatTheDiskHasNoRoomBeforeAnythingIsWritten) {
  const auto file = OutputFile::create(path_, std::uint64_t{1} << 62, false);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("the disk has room for"), std::string::npos) << file.error().message;
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(OutputFileTest, HasOneWriter) {
  const auto first = OutputFile::create(path_, 3, false);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = OutputFile::create(path_, 3, false);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another process"), std::string::npos) << second.error().message;
  EXPECT_TRUE(fs::exists(partial_)) << "the first one's file was removed by the second";
}

TEST_F(OutputFileTest, NamesAFolderThatIsMissing) {
  const auto file = OutputFile::create(folder_.path() / "missing" / "out", 3, false);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("missing/out"), std::string::npos) << file.error().message;
}

TEST_F(OutputFileTest, EmptiesNoFileThatHasAnotherNameAsWell) {
  const fs::path other = folder_.write("other", "precious");
  fs::create_hard_link(other, partial_);
  const auto refused = OutputFile::create(path_, 3, false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("out.partial: is there and is no regular file with one name"),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(content_of(other), "precious");
}

TEST_F(OutputFileTest, WaitsForNoReaderOfAPipe) {
  ASSERT_EQ(::mkfifo(partial_.c_str(), 0600), 0);
  EXPECT_FALSE(OutputFile::create(path_, 3, false));
}

TEST_F(OutputFileTest, FollowsNoLinkThatHasTheNameOfThePartialFile) {
  const fs::path other = folder_.write("other", "precious");
  fs::create_symlink(other, partial_);
  EXPECT_FALSE(OutputFile::create(path_, 3, false));
  EXPECT_EQ(content_of(other), "precious");
}

}  // namespace
}  // namespace octavo
