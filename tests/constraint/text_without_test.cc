#include "constraint/text_without.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace octavo {
namespace {

using ::testing::HasSubstr;

TEST(TextWithout, RefusesMarksThatItCannotFollow) {
  const auto error = [](std::vector<std::string> marks) {
    Grammar grammar;
    const auto root = text_without(marks, grammar);
    return root ? std::string("none") : root.error().message;
  };
  EXPECT_THAT(error({}), HasSubstr("no mark"));
  EXPECT_THAT(error({""}), HasSubstr("two characters"));
  EXPECT_THAT(error({"<"}), HasSubstr("two characters"));
  EXPECT_THAT(error({"<\xFF"}), HasSubstr("UTF-8"));
  EXPECT_THAT(error({"<a<"}), HasSubstr("nowhere else"));
  EXPECT_THAT(error({"<a", "[a"}), HasSubstr("nowhere else"));
  EXPECT_THAT(error({"<ab", "<a"}), HasSubstr("another begins"));
}

}  // namespace
}  // namespace octavo
