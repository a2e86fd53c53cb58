// Hashes are compared with those that sha256sum and git hash-object print.
#include "hub/digest.h"

#include <gtest/gtest.h>

namespace octavo::hub {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Digest, OfAFileIsItsSha256) {
  Digest digest(std::string(64, '0'), 6);
  digest.update(bytes_of("hel"));
  digest.update(bytes_of("lo\n"));
  EXPECT_EQ(digest.finish(), "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
}

TEST(Digest, OfASmallFileIsGits) {
  Digest digest(std::string(40, '0'), 6);
  digest.update(bytes_of("dropped"));
  digest.reset();
  digest.update(bytes_of("hello\n"));
  EXPECT_EQ(digest.finish(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(Digest, AnEtagIsAHashWithOrWithoutQuotes) {
  const std::string sha256(64, 'a'), upper(64, 'A');
  EXPECT_EQ(hash_of_etag(sha256), sha256);
  EXPECT_EQ(hash_of_etag('"' + upper + '"'), sha256);
  EXPECT_EQ(hash_of_etag("W/\"" + sha256 + '"'), sha256);
  EXPECT_EQ(hash_of_etag(std::string(40, '1')), std::string(40, '1'));
  for (const std::string& other : {std::string(), std::string(63, 'a'), std::string(64, 'g'), std::string("\""),
                                   std::string("0123456789abcdef0123456789abcdef-2"), std::string("../etc/passwd")})
    EXPECT_FALSE(hash_of_etag(other)) << other;
}

}  // namespace
}  // namespace octavo::hub
