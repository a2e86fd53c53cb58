#include "base/file_writing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Result<void> replace(const fs::path& path, std::string_view text) {
  return replace_file(path, std::as_bytes(std::span(text)));
}

/// Names of files in a folder.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

TEST(ReplaceFile, MakesAFileOrTakesThePlaceOfOneAndLeavesNothingElse) {
  const test::TempFolder folder;
  const fs::path path = folder.path() / "out";
  for (const std::string text : {"first", "second, and longer", ""}) {
    ASSERT_TRUE(replace(path, text));
    EXPECT_EQ(content_of(path), text);
    EXPECT_THAT(names_in(folder.path()), ElementsAre("out"));
  }
}

TEST(ReplaceFile, KeepsTheModeOfTheFileThatWasThere) {
  const test::TempFolder folder;
  const fs::path path = folder.write("out", "old");
  for (const fs::perms mode : {fs::perms(0600), fs::perms(0664)}) {
    fs::permissions(path, mode);
    ASSERT_TRUE(replace(path, "new"));
    EXPECT_EQ(fs::status(path).permissions(), mode);
  }
}

TEST(ReplaceFile, ALinkIsReplacedAndNotFollowed) {
  const test::TempFolder folder;
  const fs::path precious = folder.write("precious", "precious"), path = folder.path() / "out";
  fs::permissions(precious, fs::perms(0600));
  fs::create_symlink(precious, path);
  ASSERT_TRUE(replace(path, "new"));
  EXPECT_EQ(content_of(precious), "precious");
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_EQ(content_of(path), "new");
}

TEST(ReplaceFile, AFailureLeavesWhatWasThereAndNothingElse) {
  const test::TempFolder folder;
  folder.write("out/inside", "precious");
  const Result<void> refused = replace(folder.path() / "out", "new");  // a folder takes no file in its place
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("out"));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("out"));
  EXPECT_FALSE(replace(folder.path() / "missing" / "out", "new"));
}

}  // namespace
}  // namespace octavo
