// Files of pictures that somebody shows at a terminal.
#include "cli/picture_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_file.h"
#include "support/temp_folder.h"

namespace octavo::cli {
namespace {

using testing::HasSubstr;
using testing::Optional;

TEST(PictureFile, IsReadWithinItsBounds) {
  const test::TempFile file("12345");
  const auto read = read_picture(file.string(), {.bytes = 5});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read->bytes, "12345");
  EXPECT_EQ(read->place, file.string());
  const auto large = read_picture(file.string(), {.bytes = 4});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::kPictureTooLarge);
  EXPECT_THAT(large.error().message, HasSubstr("found more than 4 bytes"));
  EXPECT_THAT(read_picture("/dev/zero", {.bytes = 10}).error().message, HasSubstr("found more than 10 bytes"));
  EXPECT_THAT(read_picture("/").error().message, HasSubstr("is a directory"));
}

TEST(PictureFile, ADroppedOneIsFoundHoweverTheTerminalQuotesIt) {
  const test::TempFolder folder;
  const std::string path = (folder.path() / "a b.PNG").string();
  std::ofstream(path) << "x";
  std::string escaped = path;
  escaped.insert(escaped.find(' '), "\\");
  for (const std::string& line : {path, "'" + path + "'", "\"" + path + "\"", escaped, " " + escaped + " \n"})
    EXPECT_THAT(dropped_picture(line), Optional(path)) << line;
  for (const std::string& line : {path + " what is it?", std::string("a.png"), std::string(), std::string("'"),
                                  folder.path().string(), std::string("\\")})
    EXPECT_EQ(dropped_picture(line), std::nullopt) << line;
}

}  // namespace
}  // namespace octavo::cli
