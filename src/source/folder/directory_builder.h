// Fills a directory with keys and tensors that no file has in this form, and keeps their texts and numbers.
//
// Moving it leaves views valid. One thread, while a source is opened.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/source_directory.h"

namespace octavo {

class DirectoryBuilder {
 public:
  /// Adds a value, whose key must be new, here and below.
  void add_u32(std::string_view key, std::uint64_t value);
  void add_f32(std::string_view key, double value);
  void add_flag(std::string_view key, bool value);
  void add_text(std::string_view key, std::string text);
  void add_i32s(std::string_view key, std::span<const std::int32_t> values);
  void add_f32s(std::string_view key, std::span<const float> values);
  void add_flags(std::string_view key, const std::vector<bool>& flags);

  /// Keeps a text, for views of it.
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  SourceDirectory& directory() { return directory_; }
  const SourceDirectory& directory() const { return directory_; }

 private:
  void add(std::string_view key, MetadataValue value);
  void add_array(std::string_view key, MetadataType type, std::uint64_t size, std::span<const std::byte> bytes);

  SourceDirectory directory_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::int32_t>> numbers_;
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<std::byte>> flags_;
};

}  // namespace octavo
