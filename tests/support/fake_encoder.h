// An encoder of pictures without weights: a row's vector is a function of the picture's digest and of the row's place.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/to_size.h"
#include "engine/pictures/picture_encoder.h"
#include "octavo/picture.h"

namespace octavo::test {

/// What a row of a picture is to a FakeRunner, in place of its token.
inline std::int32_t picture_token(const PreparedPicture& picture, int place) {
  return 1000 * (1 + picture.digest[0]) + place;
}

/// A picture of so many tokens, by a name.
inline std::shared_ptr<const PreparedPicture> made_up_picture(int rows, int columns, std::uint8_t name) {
  auto picture = std::make_shared<PreparedPicture>();
  picture->pixels = {.size = {columns, rows}, .rgb = std::vector<std::uint8_t>(1, name)};
  picture->rows = rows;
  picture->columns = columns;
  picture->digest = {name, static_cast<std::uint8_t>(rows), static_cast<std::uint8_t>(columns)};
  return picture;
}

struct FakeEncoderCounts {
  std::atomic<int> begun = 0, ended = 0;
};

struct FakeEncoderOptions {
  std::function<void()> before_piece = {};
  int failing_name = -1;  // of a picture that there is never memory for
  std::shared_ptr<FakeEncoderCounts> counts = std::make_shared<FakeEncoderCounts>();
};

class FakeEncoder final : public PictureEncoder {
 public:
  static constexpr int kRowFloats = 2;

  explicit FakeEncoder(FakeEncoderOptions options) : options_(std::move(options)) {}

  int row_floats() const override { return kRowFloats; }
  Result<void> begin(const PreparedPicture& picture, std::span<float> out) override {
    ++options_.counts->begun;
    if (picture.digest[0] == options_.failing_name) return fail("no memory");
    picture_ = &picture;
    out_ = out;
    next_ = 0;
    return {};
  }
  /// A row.
  std::uint64_t compute(std::uint64_t) override {
    if (next_ == picture_->num_tokens()) return 0;
    if (options_.before_piece) options_.before_piece();
    out_[to_size(next_ * kRowFloats)] = static_cast<float>(picture_token(*picture_, next_));
    ++next_;
    return 1;
  }
  double done_share() const override { return static_cast<double>(next_) / picture_->num_tokens(); }
  void end() override { ++options_.counts->ended; }

 private:
  FakeEncoderOptions options_;
  const PreparedPicture* picture_ = nullptr;
  std::span<float> out_;
  int next_ = 0;
};

}  // namespace octavo::test
