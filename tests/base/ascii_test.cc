#include "base/ascii.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace octavo {
namespace {

TEST(Ascii, CharactersAreOfTheKindsThatTheCLibraryHasInItsOwnLocale) {
  for (int code = 0; code < 256; ++code) {
    const auto c = static_cast<char>(code);
    const bool is_ascii = code < 128;
    EXPECT_EQ(is_digit(c), is_ascii && std::isdigit(code) != 0) << code;
    EXPECT_EQ(is_capital(c), is_ascii && std::isupper(code) != 0) << code;
    EXPECT_EQ(is_letter_or_digit(c), is_ascii && std::isalnum(code) != 0) << code;
    EXPECT_EQ(lower(c), is_ascii ? static_cast<char>(std::tolower(code)) : c) << code;
    EXPECT_EQ(is_white_space(code), kWhiteSpace.contains(c) && code != 0) << code;
  }
  EXPECT_FALSE(is_white_space(0x2028));
}

TEST(Ascii, TextsLoseTheWhiteSpaceAroundThemAndNoneWithin) {
  for (const std::string_view text : {"", "a", "a b", "a \t\r\n b"})
    for (const std::string_view space : {"", " ", "\t\r\n "}) {
      const std::string whole = std::string(space) + std::string(text) + std::string(space);
      EXPECT_EQ(trimmed(whole), text);
      EXPECT_EQ(without_leading(whole), text.empty() ? std::string() : std::string(text) + std::string(space));
      EXPECT_EQ(without_trailing(whole), text.empty() ? std::string() : std::string(space) + std::string(text));
    }
  EXPECT_EQ(trimmed("\n a \n", " "), "\n a \n");
  EXPECT_EQ(trimmed("--a-", "-"), "a");
}

}  // namespace
}  // namespace octavo
