#include "cli/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "support/temp_file.h"

namespace octavo::cli {
namespace {

using testing::HasSubstr;

TEST(Npy, HeaderIsThatOfNumpyFormat1) {
  const std::string header = npy_header(3, 49152);
  EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(header.size() % 64, 0U);
  const auto length =
      static_cast<std::size_t>(static_cast<unsigned char>(header[8]) | static_cast<unsigned char>(header[9]) << 8);
  EXPECT_EQ(header.size(), 10 + length);
  EXPECT_THAT(header, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 49152), }"));
  EXPECT_EQ(header.back(), '\n');
}

TEST(Npy, RowsFollowTheHeader) {
  const test::TempFile file("", ".npy");
  auto writer = NpyWriter::create(file.path(), 2, 2);
  ASSERT_TRUE(writer);
  writer->append(std::vector<float>{1, 2});
  writer->append(std::vector<float>{3, 4});
  ASSERT_TRUE(writer->finish());
  std::ifstream in(file.path(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string header = npy_header(2, 2);
  ASSERT_EQ(bytes.size(), header.size() + 16);
  float last;
  std::memcpy(&last, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(last, 4.0F);
}

TEST(Npy, AnEarlierFileStaysUntilTheNewOneIsWhole) {
  const test::TempFile file("before", ".npy");
  {
    auto writer = NpyWriter::create(file.path(), 2, 2);
    writer->append(std::vector<float>{1, 2});
  }
  std::ifstream in(file.path(), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "before");
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".partial"));
}

TEST(Npy, MissingRowsAndUnwritablePathsAreErrors) {
  const test::TempFile file("", ".npy");
  auto writer = NpyWriter::create(file.path(), 2, 2);
  writer->append(std::vector<float>{1, 2});
  EXPECT_THAT(writer->finish().error().message, HasSubstr("gave 2 numbers, expected 4"));
  EXPECT_THAT(NpyWriter::create("/no/such/folder/x.npy", 1, 1).error().message, HasSubstr("/no/such/folder/x.npy"));
  auto full = NpyWriter::create("/dev/full", 1, 1);
  ASSERT_TRUE(full);
  full->append(std::vector<float>{1});
  EXPECT_THAT(full->finish().error().message, HasSubstr("/dev/full: cannot write"));
}

}  // namespace
}  // namespace octavo::cli
