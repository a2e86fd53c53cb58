// A model source in memory: keys and tensors as a test writes them, no file.
//
//     MemorySource source;
//     source.add("general.architecture", "llama").add("llama.block_count", 2U);
//     source.add_tensor("output_norm.weight", {64}, DType::kF32, bytes_of(weights));
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/model_source.h"
#include "support/gguf_writer.h"

namespace octavo::test {

class MemorySource : public ModelSource {
 public:
  MemorySource() : files_{.path = "memory", .format = "memory", .version = 1} {}

  /// A number, a flag or a text. A key that is there already is replaced.
  template <class T>
    requires std::is_arithmetic_v<T>
  MemorySource& add(std::string_view key, T value) {
    MetadataValue& out = value_of(key);
    const std::string bytes = bytes_of(value);
    MetadataArray one;
    one.element_type = metadata_type_of<T>();
    one.size = 1;
    one.bytes = std::as_bytes(std::span(bytes));
    out = element_of(one, 0);
    return *this;
  }
  MemorySource& add(std::string_view key, std::string_view text) {
    value_of(key) = {MetadataType::kString, keep(text)};
    return *this;
  }
  MemorySource& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }

  template <class T>
    requires std::is_arithmetic_v<T>
  MemorySource& add_array(std::string_view key, const std::vector<T>& values) {
    const std::string_view bytes = keep(bytes_of(values));
    value_of(key) = {MetadataType::kArray, MetadataArray{.element_type = metadata_type_of<T>(),
                                                         .size = values.size(),
                                                         .bytes = std::as_bytes(std::span(bytes)),
                                                         .arrays = {}}};
    return *this;
  }
  MemorySource& add_array(std::string_view key, const std::vector<bool>& flags) {
    const std::string_view bytes = keep(std::string(flags.begin(), flags.end()));
    value_of(key) = {MetadataType::kArray, MetadataArray{.element_type = MetadataType::kBool,
                                                         .size = flags.size(),
                                                         .bytes = std::as_bytes(std::span(bytes)),
                                                         .arrays = {}}};
    return *this;
  }
  MemorySource& add_array(std::string_view key, const std::vector<std::string>& texts) {
    MetadataArray array{.element_type = MetadataType::kString, .size = texts.size(), .arrays = {}};
    for (const std::string& text : texts) array.strings.push_back(keep(text));
    value_of(key) = {MetadataType::kArray, std::move(array)};
    return *this;
  }

  /// dims are in ggml's order: row length first. `data` is as long as they say.
  MemorySource& add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims, DType type,
                           std::string_view data) {
    const std::string_view kept = keep(data);
    std::uint64_t rows = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) rows *= dims[i];
    directory_.add({.name = keep(name),
                    .offset = files_.bytes,
                    .dims = dims,
                    .tensor = {.type = type,
                               .rows = static_cast<std::int64_t>(rows),
                               .cols = static_cast<std::int64_t>(dims[0]),
                               .data = std::as_bytes(std::span(kept))}});
    files_.bytes += data.size();
    return *this;
  }

  const SourceFiles& files() const override { return files_; }
  const SourceDirectory& directory() const override { return directory_; }
  std::vector<std::span<const std::byte>> heads() const override { return {}; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    for (const SourceTensor& t : tensors()) {
      if (offset < t.offset || offset + out.size() > t.offset + t.tensor.data.size()) continue;
      std::ranges::copy(t.tensor.data.subspan(offset - t.offset, out.size()), out.begin());
      return {};
    }
    return fail("{}: {} bytes at {} lie in no tensor", name(), out.size(), offset);
  }
  void prefetch(std::uint64_t, std::uint64_t) const override {}
  void drop(std::uint64_t offset, std::uint64_t size) const override {
    const std::lock_guard lock(dropped_->mutex);
    dropped_->ranges.emplace_back(offset, size);
  }
  /// Offsets and sizes, in their order.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dropped() const {
    std::ranges::sort(dropped_->ranges);
    return dropped_->ranges;
  }

 private:
  struct Dropped {
    std::mutex mutex;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  };

  std::string_view keep(std::string_view text) { return kept_.emplace_back(text); }
  MetadataValue& value_of(std::string_view key) {
    if (MetadataValue* value = directory_.add(keep(key))) return *value;
    return const_cast<MetadataValue&>(*find(key));
  }

  SourceFiles files_;
  SourceDirectory directory_;
  std::deque<std::string> kept_;  // what the directory views
  std::shared_ptr<Dropped> dropped_ = std::make_shared<Dropped>();
};

}  // namespace octavo::test
