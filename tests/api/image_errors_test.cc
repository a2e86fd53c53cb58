#include <gtest/gtest.h>

#include "api/call/api_error.h"

namespace octavo {
namespace {

TEST(ImageErrors, TellAPictureThatIsNoneFromOneThatIsTooLarge) {
  const ApiError none = to_api_error(Error{.message = "no picture", .kind = ErrorKind::kInvalidPicture});
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(none.code, "invalid_image");
  EXPECT_EQ(none.message, "no picture");
  const ApiError large = to_api_error(Error{.message = "201 x 1 pixels", .kind = ErrorKind::kPictureTooLarge});
  EXPECT_EQ(large.status, 400);
  EXPECT_EQ(large.code, "image_too_large");
}

}  // namespace
}  // namespace octavo
