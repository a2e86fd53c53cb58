#include "hub/partial_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace octavo::hub {
namespace {

using testing::HasSubstr;

const std::string kHello = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";  // of "hello\n"

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(PartialFile, GoesOnWithWhatIsThere) {
  const test::TempFolder folder;
  const auto path = folder.path() / "x.incomplete", name = folder.path() / "x";
  {
    PartialFile file = PartialFile::open(path, kHello, 6).value();
    EXPECT_FALSE(file.is_resumed());
    ASSERT_TRUE(file.append(bytes_of("hel")));
  }
  PartialFile file = PartialFile::open(path, kHello, 6).value();
  EXPECT_TRUE(file.is_resumed());
  EXPECT_EQ(file.size(), 3U);
  ASSERT_TRUE(file.append(bytes_of("lo\n")));
  EXPECT_TRUE(file.has_right_hash());
  ASSERT_TRUE(file.rename_to(name));
  EXPECT_FALSE(std::filesystem::exists(path));
  std::string text;
  std::getline(std::ifstream(name), text);
  EXPECT_EQ(text, "hello");
}

TEST(PartialFile, AStopEndsTheHashingOfWhatIsThereAndLeavesIt) {
  const test::TempFolder folder;
  const auto path = folder.path() / "x.incomplete";
  ASSERT_TRUE(PartialFile::open(path, kHello, 6).value().append(bytes_of("hel")));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(PartialFile::open(path, kHello, 6, stop.get_token()).error().message, "fetching was stopped");
  EXPECT_EQ(PartialFile::open(path, kHello, 6).value().size(), 3U);
}

TEST(PartialFile, BeginsAgain) {
  const test::TempFolder folder;
  const auto path = folder.write("x.incomplete", "junk");
  PartialFile file = PartialFile::open(path, kHello, 6).value();
  ASSERT_TRUE(file.restart());
  EXPECT_EQ(file.size(), 0U);
  EXPECT_FALSE(file.is_resumed());
  ASSERT_TRUE(file.append(bytes_of("hello\n")));
  EXPECT_TRUE(file.has_right_hash());
}

TEST(PartialFile, AWrongHashIsSeen) {
  const test::TempFolder folder;
  PartialFile file = PartialFile::open(folder.write("x.incomplete", "jello\n"), kHello, 6).value();
  EXPECT_FALSE(file.has_right_hash());
}

TEST(PartialFile, MoreThanTheFileHasIsDropped) {
  const test::TempFolder folder;
  const PartialFile file = PartialFile::open(folder.write("x.incomplete", "hello\nhello\n"), kHello, 6).value();
  EXPECT_EQ(file.size(), 0U);
  EXPECT_FALSE(file.is_resumed());
}

TEST(PartialFile, ALinkOrAFolderInItsPlaceIsRefused) {
  const test::TempFolder folder;
  const auto target = folder.write("target", "precious");
  std::filesystem::create_symlink(target, folder.path() / "x.incomplete");
  EXPECT_THAT(PartialFile::open(folder.path() / "x.incomplete", kHello, 6).error().message, HasSubstr("cannot open"));
  EXPECT_FALSE(PartialFile::open(folder.path(), kHello, 6));
  EXPECT_EQ(std::filesystem::file_size(target), 8U);
}

}  // namespace
}  // namespace octavo::hub
