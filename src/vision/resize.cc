#include "vision/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/math.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr int kWeightBits = 22;
constexpr int kHalf = 1 << (kWeightBits - 1);

struct Filter {
  double radius;
  double (*weight)(double distance);
};

double bilinear(double x) { return std::max(1 - std::abs(x), 0.0); }

double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return portable::sin(x) / x;
}

double lanczos(double x) { return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

Filter filter_of(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::kBilinear: return {1, bilinear};
    case ResizeFilter::kBicubic: return {2, bicubic};
    case ResizeFilter::kLanczos: break;
  }
  return {3, lanczos};
}

/// The range of an axis's values of which one value of the result is a weighted sum.
struct Taps {
  int first;
  int count;
};

/// The taps and the weights of each value of the result along one axis.
struct AxisWeights {
  std::vector<Taps> taps;             // [to]
  std::size_t stride;                 // the weights that each value has room for; some are unused
  std::vector<std::int32_t> weights;  // [to, stride]

  const std::int32_t* of(int value) const { return &weights[to_size(value) * stride]; }
};

std::int32_t fixed_point(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<std::int32_t>(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

AxisWeights axis_weights(int from, int to, const Filter& filter) {
  const double scale = static_cast<double>(from) / to, widened = std::max(scale, 1.0);
  const double support = filter.radius * widened, narrowing = 1 / widened;
  const std::size_t stride = to_size(static_cast<int>(std::ceil(support))) * 2 + 1;
  AxisWeights axis = {.taps = {}, .stride = stride, .weights = std::vector<std::int32_t>(to_size(to) * stride)};
  axis.taps.reserve(to_size(to));
  std::vector<double> exact(stride);
  for (int value = 0; value < to; ++value) {
    const double center = (value + 0.5) * scale;
    const double begin = center - support + 0.5, end = center + support + 0.5;
    const int first = std::max(static_cast<int>(begin), 0);
    const int count = std::min(static_cast<int>(end), from) - first;
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      exact[to_size(i)] = filter.weight((i + first - center + 0.5) * narrowing);
      sum += exact[to_size(i)];
    }
    for (int i = 0; i < count; ++i)
      axis.weights[to_size(value) * stride + to_size(i)] =
          fixed_point(sum != 0 ? exact[to_size(i)] / sum : exact[to_size(i)]);
    axis.taps.push_back({first, count});
  }
  return axis;
}

std::uint8_t rounded(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255)); }

Picture resize_rows(const Picture& picture, int width, const Filter& filter) {
  const AxisWeights axis = axis_weights(picture.size.width, width, filter);
  Picture result = {.size = {width, picture.size.height}};
  result.rgb.resize(to_size(result.size.pixels()) * 3);
  std::uint8_t* to = result.rgb.data();
  for (int y = 0; y < picture.size.height; ++y) {
    const std::uint8_t* row = &picture.rgb[to_size(y) * to_size(picture.size.width) * 3];
    for (int x = 0; x < width; ++x, to += 3) {
      const Taps taps = axis.taps[to_size(x)];
      const std::int32_t* weights = axis.of(x);
      const std::uint8_t* from = row + to_size(taps.first) * 3;
      std::int32_t red = kHalf, green = kHalf, blue = kHalf;
      for (int i = 0; i < taps.count; ++i, from += 3) {
        red += from[0] * weights[i];
        green += from[1] * weights[i];
        blue += from[2] * weights[i];
      }
      to[0] = rounded(red);
      to[1] = rounded(green);
      to[2] = rounded(blue);
    }
  }
  return result;
}

Picture resize_columns(const Picture& picture, int height, const Filter& filter) {
  const AxisWeights axis = axis_weights(picture.size.height, height, filter);
  const std::size_t row_bytes = to_size(picture.size.width) * 3;
  Picture result = {.size = {picture.size.width, height}};
  result.rgb.resize(to_size(height) * row_bytes);
  std::vector<std::int32_t> sums(row_bytes);
  for (int y = 0; y < height; ++y) {
    const Taps taps = axis.taps[to_size(y)];
    std::ranges::fill(sums, kHalf);
    for (int i = 0; i < taps.count; ++i) {
      const std::uint8_t* from = &picture.rgb[to_size(taps.first + i) * row_bytes];
      const std::int32_t weight = axis.of(y)[i];
      for (std::size_t x = 0; x < row_bytes; ++x) sums[x] += from[x] * weight;
    }
    std::ranges::transform(sums, &result.rgb[to_size(y) * row_bytes], rounded);
  }
  return result;
}

}  // namespace

Picture resize(const Picture& picture, PictureSize size, ResizeFilter filter) {
  if (picture.size == size) return picture;
  const Filter by = filter_of(filter);
  if (picture.size.width == size.width) return resize_columns(picture, size.height, by);
  if (picture.size.height == size.height) return resize_rows(picture, size.width, by);
  return resize_columns(resize_rows(picture, size.width, by), size.height, by);
}

Picture cut(const Picture& picture, PicturePlace place, PictureSize size) {
  if (size == picture.size) return picture;
  OCTAVO_CHECK(place.left >= 0 && place.top >= 0 && place.left + size.width <= picture.size.width &&
                   place.top + size.height <= picture.size.height,
               "{} x {} at {}, {}", size.width, size.height, place.left, place.top);
  const std::size_t row_bytes = to_size(size.width) * 3, stride = to_size(picture.size.width) * 3;
  const std::uint8_t* from = picture.rgb.data() + to_size(place.top) * stride + to_size(place.left) * 3;
  Picture part = {.size = size};
  part.rgb.reserve(to_size(size.height) * row_bytes);
  for (int row = 0; row < size.height; ++row, from += stride) part.rgb.insert(part.rgb.end(), from, from + row_bytes);
  return part;
}

}  // namespace octavo
