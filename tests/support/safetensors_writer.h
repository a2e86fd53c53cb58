// Builds the bytes of a safetensors file in memory, for tests.
//
//     SafetensorsWriter writer;
//     writer.add("model.norm.weight", "F32", {64}, bytes_of(weights));
//     folder.write("model.safetensors", writer.bytes());
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/gguf_writer.h"

namespace octavo::test {

class SafetensorsWriter {
 public:
  SafetensorsWriter& add(std::string_view name, std::string_view dtype, const std::vector<std::uint64_t>& shape,
                         std::string_view data) {
    if (!rows_.empty()) rows_ += ',';
    rows_ += fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name, dtype,
                         fmt::join(shape, ","), data_.size(), data_.size() + data.size());
    data_ += data;
    return *this;
  }

  std::string bytes() const { return with_header("{" + rows_ + "}", data_); }
  static std::string with_header(std::string_view header, std::string_view data) {
    return bytes_of(std::uint64_t{header.size()}) + std::string(header) + std::string(data);
  }

 private:
  std::string rows_, data_;
};

}  // namespace octavo::test
