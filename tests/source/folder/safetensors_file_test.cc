#include "source/folder/safetensors_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace octavo {
namespace {

using test::SafetensorsWriter;
using testing::HasSubstr;

class Safetensors : public testing::Test {
 protected:
  Result<SafetensorsFile> open(std::string_view bytes) {
    return SafetensorsFile::open(folder_.write("model.safetensors", bytes));
  }
  std::string error_of(std::string_view header, std::string_view data = "12345678") {
    const auto file = open(SafetensorsWriter::with_header(header, data));
    return file ? "" : file.error().message;
  }

  test::TempFolder folder_;
};

TEST_F(Safetensors, GivesTensorsInTheOrderOfTheirBytes) {
  const auto file = open(SafetensorsWriter().add("b", "F32", {2, 1}, "12345678").add("a", "BF16", {1}, "ab").bytes());
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 2U);
  const StoredTensor& b = file->tensors()[0];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.dtype, "F32");
  EXPECT_EQ(b.shape, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(b.bytes, 8U);
  EXPECT_EQ(b.offset, 8 + file->header().size());
  EXPECT_EQ(file->tensors()[1].offset, b.offset + 8);
}

TEST_F(Safetensors, LeavesOutComments) {
  const auto file = open(SafetensorsWriter::with_header(R"({"__metadata__": {"format": "pt"}})", ""));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->tensors().empty());
}

TEST_F(Safetensors, RefusesFilesThatAreNone) {
  EXPECT_FALSE(open(""));
  EXPECT_THAT(open("1234").error().message, HasSubstr("has 4 bytes, expected a safetensors file"));
  EXPECT_THAT(open(test::bytes_of(std::uint64_t{100}) + "{}").error().message,
              HasSubstr("found a header of 100 bytes in a file of 10"));
  EXPECT_THAT(open(test::bytes_of(~std::uint64_t{0}) + "{}").error().message, HasSubstr("found a header of"));
  EXPECT_THAT(error_of("[]"), HasSubstr("model.safetensors: header: "));
  EXPECT_THAT(error_of("{"), HasSubstr("model.safetensors: header: "));
}

TEST_F(Safetensors, RefusesTensorsThatDoNotFit) {
  const auto row = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return fmt::format(R"({{"t":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  EXPECT_EQ(error_of(row("F32", "[2]", "[0,8]")), "");
  EXPECT_THAT(error_of(row("F32", "[2]", "[0,9]")), HasSubstr("do not lie within the 8 bytes of data"));
  EXPECT_THAT(error_of(row("F32", "[2]", "[4,0]")), HasSubstr("do not lie within the 8 bytes of data"));
  EXPECT_THAT(error_of(row("F32", "[1]", "[0,8]")), HasSubstr("found 8 bytes, expected those of its shape and type"));
  EXPECT_THAT(error_of(row("F32", "[4611686018427387904,4]", "[0,0]")), HasSubstr("found 0 bytes"));
  EXPECT_THAT(error_of(row("F32", "[-1]", "[0,8]")), HasSubstr("has -1, expected whole numbers from 0"));
  EXPECT_THAT(error_of(row("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]")), HasSubstr("expected a list of at most 8"));
  EXPECT_THAT(error_of(row("F32", "[2]", "[0,4,8]")), HasSubstr("expected a list of at most 2"));
  EXPECT_THAT(error_of(row("F32", "[2]", "[8]")), HasSubstr("do not lie within"));
  EXPECT_THAT(error_of(row("Q4", "[2]", "[0,8]")), HasSubstr("'Q4', which is no known type"));
  EXPECT_THAT(error_of(R"({"t": 1})"), HasSubstr("tensor 't': found 1, expected an object"));
  EXPECT_THAT(error_of(R"({"t": {}})"), HasSubstr("dtype is missing"));
}

TEST_F(Safetensors, RefusesTensorsThatShareBytesOrNames) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("tensors 'a' and 'b' overlap"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("two tensors named 'a'"));
}

}  // namespace
}  // namespace octavo
