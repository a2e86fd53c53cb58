#include "hub/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octavo::hub {
namespace {

using testing::HasSubstr;

const std::string kCommit(40, 'c'), kBlob(40, 'b'), kSha256(64, 'A');

std::string listing_of(const std::string& siblings) {
  return R"({"id": "a/b", "sha": ")" + kCommit + R"(", "siblings": [)" + siblings + "]}";
}
std::string error_of(const std::string& text) {
  const auto listing = parse_listing(text);
  return listing ? "no error" : listing.error().message;
}

TEST(Listing, FilesHaveTheirSizeAndTheHashOfTheirBytes) {
  const auto listing = parse_listing(listing_of(
      R"({"rfilename": "m.gguf", "size": 5, "blobId": ")" + kBlob + R"(", "lfs": {"sha256": ")" + kSha256 +
      R"(", "size": 5, "pointerSize": 130}}, {"rfilename": "README.md", "size": 7, "blobId": ")" + kBlob + "\"}"));
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->commit, kCommit);
  ASSERT_EQ(listing->files.size(), 2U);
  EXPECT_EQ(listing->files[0].path, "m.gguf");
  EXPECT_EQ(listing->files[0].size, 5U);
  EXPECT_EQ(listing->files[0].hash, std::string(64, 'a'));
  EXPECT_EQ(listing->files[1].hash, kBlob);
}

TEST(Listing, FilesThatCannotBeFetchedSafelyAreLeftOut) {
  for (const char* file : {R"({"rfilename": "../m.gguf", "size": 5, "blobId": "H"})",
                           R"({"rfilename": "/m.gguf", "size": 5, "blobId": "H"})",
                           R"({"rfilename": "m.gguf", "size": -1, "blobId": "H"})",
                           R"({"rfilename": "m.gguf", "size": 1e300, "blobId": "H"})",
                           R"({"rfilename": "m.gguf", "size": 9000000000000000000, "blobId": "H"})",
                           R"({"rfilename": "m.gguf", "blobId": "H"})", R"({"rfilename": "m.gguf", "size": 5})",
                           R"({"rfilename": "m.gguf", "size": 5, "blobId": "../../x"})",
                           R"({"rfilename": 5, "size": 5, "blobId": "H"})", "{}"}) {
    std::string text = file;
    if (const auto at = text.find("\"H\""); at != std::string::npos) text.replace(at, 3, "\"" + kBlob + "\"");
    const auto listing = parse_listing(listing_of(text));
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_TRUE(listing->files.empty()) << text;
  }
}

TEST(Listing, OtherAnswersAreErrors) {
  EXPECT_THAT(error_of("<html>"), HasSubstr("no JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("no commit"));
  EXPECT_THAT(error_of(R"({"sha": "../../etc"})"), HasSubstr("no commit"));
  EXPECT_THAT(error_of(R"({"sha": ")" + kCommit + "\"}"), HasSubstr("no 'siblings'"));
  EXPECT_THAT(error_of(listing_of("5")), HasSubstr("siblings[0]: found the number 5, expected a file"));
}

TEST(Listing, ItsSizeItsDepthAndTheNumberOfFilesAreBounded) {
  EXPECT_THAT(error_of(std::string(ListingLimits::kBytes + 1, ' ')), HasSubstr("bytes"));
  EXPECT_THAT(error_of(std::string(1000, '[')), HasSubstr("deeper"));
  std::string many = "{}";
  for (std::size_t i = 0; i < ListingLimits::kFiles; ++i) many += ",{}";
  EXPECT_THAT(error_of(listing_of(many)), HasSubstr("at most 65536"));
}

}  // namespace
}  // namespace octavo::hub
