// The source of a model: its keys, its words and its tensors, whatever the form of its files.
//
// A form (gguf/) says what its files hold and how their bytes are read; look-ups by type, and their errors, are written
// here once. Keys and tensors have the names that GGUF gives them, into which another form translates its own. Virtual
// calls happen at load only. Owned by whoever opened it (open_model.h); immutable, so any thread may read it. Texts,
// names and data of tensors are views that live as long as the source.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "source/source_directory.h"

namespace octavo {

/// The files of a source, named and dated.
struct SourceFiles {
  std::filesystem::path path;  // the path of the file, or of the first of several
  std::string_view format;     // "GGUF"
  std::uint32_t version = 0;   // the version of the format
  std::uint64_t bytes = 0;     // the bytes of all files
  std::size_t num_files = 1;
  std::int64_t modified_ns = 0;  // the time of the last change when it was opened, in nanoseconds since 1970
};

class ModelSource {
 public:
  virtual ~ModelSource() = default;
  ModelSource(const ModelSource&) = delete;
  ModelSource& operator=(const ModelSource&) = delete;

  virtual const SourceFiles& files() const = 0;
  virtual const SourceDirectory& directory() const = 0;
  /// The bytes of the files, beside the data of tensors, that matter: keys, words and directory, a piece for each file.
  /// They are hashed with the data.
  virtual std::vector<std::span<const std::byte>> heads() const = 0;

  /// Copies the bytes from `offset` on, as many as `out` has. Offsets count through all files of the source, one file
  /// after another, so that tensors in the order of their offsets are read from front to back. Tensor::data views the
  /// same bytes in a map; reading touches no page of it. Error: the file now ends before that, or cannot be read.
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// Tells the system that these bytes will soon be read.
  virtual void prefetch(std::uint64_t offset, std::uint64_t size) const = 0;
  /// Tells the system that these bytes will not be read again: their pages may leave the page cache.
  virtual void drop(std::uint64_t /*offset*/, std::uint64_t /*size*/) const {}

  const std::filesystem::path& path() const { return files().path; }
  /// The path, with which error messages begin.
  std::string name() const { return path().string(); }

  const std::vector<SourceDirectory::Entry>& metadata() const { return directory().metadata(); }
  const MetadataValue* find(std::string_view key) const { return directory().find(key); }
  /// The tensors; none for a source that has only words.
  const std::vector<SourceTensor>& tensors() const { return directory().tensors(); }
  const SourceTensor* find_tensor(std::string_view tensor) const { return directory().find_tensor(tensor); }

  /// The value of a key by its type. A missing key and a value of another type are errors that name the key, the
  /// finding and the expectation. Integers of any width and sign are accepted where the value fits, floats of both
  /// widths.
  Result<std::uint64_t> get_u64(std::string_view key) const;
  Result<std::uint32_t> get_u32(std::string_view key) const;
  Result<float> get_f32(std::string_view key) const;
  Result<bool> get_bool(std::string_view key) const;
  Result<std::string_view> get_string(std::string_view key) const;
  Result<std::span<const std::string_view>> get_strings(std::string_view key) const;
  Result<std::vector<float>> get_f32_array(std::string_view key) const;
  Result<std::vector<std::int32_t>> get_i32_array(std::string_view key) const;

 protected:
  ModelSource() = default;
  ModelSource(ModelSource&&) = default;
  ModelSource& operator=(ModelSource&&) = default;

 private:
  Result<const MetadataValue*> require(std::string_view key) const;
  Result<const MetadataArray*> require_array(std::string_view key, std::string_view expected) const;
};

}  // namespace octavo
