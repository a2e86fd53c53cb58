#include "base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "support/temp_file.h"

namespace octavo {
namespace {

using test::TempFile;
using testing::AllOf;
using testing::HasSubstr;

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, GivesTheBytesOfTheFile) {
  const TempFile file("some bytes");
  const auto mapped = MappedFile::open(file.path());
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(text_of(*mapped), "some bytes");
  EXPECT_EQ(mapped->path(), file.path());
}

TEST(MappedFile, CanBeMoved) {
  const TempFile one("one"), two("two");
  MappedFile first = *MappedFile::open(one.path());
  MappedFile second(std::move(first));
  EXPECT_EQ(text_of(second), "one");
  second = *MappedFile::open(two.path());
  EXPECT_EQ(text_of(second), "two");
}

TEST(MappedFile, ReadsAnyRangeOfTheFile) {
  const TempFile file("some bytes");
  const MappedFile mapped = *MappedFile::open(file.path());
  std::string text(5, '?');
  ASSERT_TRUE(mapped.read(5, std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, "bytes");
  EXPECT_TRUE(mapped.read(10, {}));
}

TEST(MappedFile, ReadingAFileThatWasCutShortIsAnErrorThatSaysSo) {
  const TempFile file(std::string(100'000, 'x'));
  const MappedFile mapped = *MappedFile::open(file.path());
  std::filesystem::resize_file(file.path(), 60'000);
  std::vector<std::byte> bytes(50'000);
  EXPECT_TRUE(mapped.read(10'000, bytes));
  const auto read = mapped.read(10'001, bytes);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, AllOf(HasSubstr(file.string()), HasSubstr("was cut short while it was in use"),
                                          HasSubstr("byte 60000"), HasSubstr("had 100000")));
}

TEST(MappedFile, AnyRangeCanBePrefetchedAndDropped) {
  const TempFile file(std::string(10'000, 'x'));
  const MappedFile mapped = *MappedFile::open(file.path());
  for (const std::size_t offset : {0, 1, 4096, 9'999, 10'000, 1 << 30})
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{20'000}, SIZE_MAX}) {
      mapped.prefetch(offset, size);
      mapped.drop(offset, size);
    }
  EXPECT_EQ(text_of(mapped), std::string(10'000, 'x'));
}

TEST(MappedFile, WhatCannotBeMappedIsAnErrorWithThePath) {
  const auto message = [](const std::filesystem::path& path) {
    const auto mapped = MappedFile::open(path);
    return mapped ? std::string("opened") : mapped.error().message;
  };
  EXPECT_THAT(message("/no/such/file"), AllOf(HasSubstr("/no/such/file"), HasSubstr("No such file")));
  EXPECT_THAT(message(std::filesystem::temp_directory_path()), HasSubstr("is a directory"));
  EXPECT_THAT(message("/dev/null"), HasSubstr("is not a regular file"));
  const TempFile empty("");
  EXPECT_THAT(message(empty.path()), AllOf(HasSubstr(empty.string()), HasSubstr("empty")));
}

TEST(MappedFile, APipeIsRefusedAndNotWaitedFor) {
  const TempFile place("");
  const std::string pipe = place.string() + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto mapped = MappedFile::open(pipe);
  ::unlink(pipe.c_str());
  ASSERT_FALSE(mapped);
  EXPECT_THAT(mapped.error().message, HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace octavo
