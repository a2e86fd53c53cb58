#include "source/open_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/gguf_writer.h"
#include "support/temp_file.h"

namespace octavo::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(OpenModel, AGgufFileIsOpenedWhateverItsName) {
  const std::string bytes = GgufWriter().add("general.architecture", "llama").bytes();
  const TempFile file(bytes, ".model");
  EXPECT_TRUE(begins_as_model(file.path()));
  const auto source = open_model(file.path());
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->get_string("general.architecture"), "llama");
  const SourceFiles& files = (*source)->files();
  EXPECT_EQ(files.path, file.path());
  EXPECT_EQ(files.format, "GGUF");
  EXPECT_EQ(files.version, 3U);
  EXPECT_EQ(files.bytes, bytes.size());
  EXPECT_GT(files.modified_ns, 0);
  EXPECT_EQ((*source)->heads().front().size(), bytes.size());
}

TEST(OpenModel, OtherFilesAreRefusedByName) {
  const TempFile file("PK\x03\x04 and more", ".gguf");
  EXPECT_FALSE(begins_as_model(file.path()));
  EXPECT_THAT(open_model(file.path()).error().message, AllOf(HasSubstr(file.string()), HasSubstr("a zip archive")));
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  EXPECT_FALSE(begins_as_model(folder));
  EXPECT_THAT(open_model(folder).error().message, HasSubstr(folder.string()));
  EXPECT_FALSE(begins_as_model(folder / "no such file"));
  EXPECT_FALSE(open_model(folder / "no such file"));
}

TEST(OpenModel, AFileOfThreeBytesIsNoModel) {
  const TempFile file("GGU");
  EXPECT_FALSE(begins_as_model(file.path()));
  EXPECT_FALSE(open_model(file.path()));
}

}  // namespace
}  // namespace octavo::test
