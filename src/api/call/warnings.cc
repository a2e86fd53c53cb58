#include "api/call/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/utf8.h"

namespace octavo {

Warnings::Warnings(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) push_back(text);
}

void Warnings::push_back(std::string text) {
  if (num_given_ >= kMost) return leave_out(1);
  ++num_given_;
  if (text.size() > kMaxBytes) text = to_valid_utf8(std::string_view(text).substr(0, kMaxBytes)) + "...";
  told_.push_back(std::move(text));
}

void Warnings::append(const Warnings& other) {
  const std::size_t num_told = std::min(other.num_given_, kMost);
  for (std::size_t i = 0; i < num_told; ++i) push_back(other.told_[i]);
  if (other.num_given_ > num_told) leave_out(other.num_given_ - num_told);
}

std::size_t Warnings::num_bytes() const {
  std::size_t num_bytes = 0;
  for (const std::string& text : told_) num_bytes += text.size();
  return num_bytes;
}

void Warnings::leave_out(std::size_t count) {
  num_given_ += count;
  told_.resize(std::min(told_.size(), kMost));
  told_.push_back(fmt::format("and {} more", num_given_ - std::min(num_given_, kMost)));
}

}  // namespace octavo
