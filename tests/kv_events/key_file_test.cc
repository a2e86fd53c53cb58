// The key that replicas share.
#include "kv_events/key_file.h"

#include <gmock/gmock.h>

#include <fstream>

namespace octavo {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class KeyFile : public ::testing::Test {
 protected:
  KeyFile() : file_(fs::path(::testing::TempDir()) / "octavo_kv_events_key") {}
  ~KeyFile() override { fs::remove(file_); }

  Result<BlockHashKey> read(const std::string& text, fs::perms mode = fs::perms::owner_read | fs::perms::owner_write) {
    fs::remove(file_);
    std::ofstream(file_, std::ios::binary) << text;
    fs::permissions(file_, mode);
    return read_block_hash_key(file_);
  }

  const fs::path file_;
};

TEST_F(KeyFile, HasSixteenBytesOrTheirDigits) {
  const auto bytes = read("0123456789abcdef");
  ASSERT_TRUE(bytes);
  EXPECT_EQ((*bytes)[0], std::byte{'0'});
  const auto digits = read("000102030405060708090a0b0c0d0e0F\n");
  ASSERT_TRUE(digits);
  for (int i = 0; i < 16; ++i) EXPECT_EQ((*digits)[static_cast<std::size_t>(i)], static_cast<std::byte>(i));
}

TEST_F(KeyFile, OfAnotherFormIsRefused) {
  for (const char* text : {"short", "000102030405060708090a0b0c0d0e0x", "0123456789abcdef0"}) {
    const auto key = read(text);
    ASSERT_FALSE(key) << text;
    EXPECT_THAT(key.error().message, HasSubstr("expected a key of 16 bytes or 32 hexadecimal digits")) << text;
  }
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read(std::string(1000, '0')));
}

TEST_F(KeyFile, ThatOthersMayReadIsRefused) {
  const auto key = read("0123456789abcdef", fs::perms::owner_all | fs::perms::group_read);
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, HasSubstr("expected the mode 0600"));
}

TEST_F(KeyFile, ThatIsNotThereIsAnError) {
  EXPECT_THAT(read_block_hash_key(file_).error().message, HasSubstr("there is no such file"));
}

}  // namespace
}  // namespace octavo
