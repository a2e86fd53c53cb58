#include "source/gguf_head.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace octavo {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint32_t kVersion = 3;
constexpr std::string_view kAlignmentKey = "general.alignment";

/// Appends values as the machine has them: little-endian (source/gguf/byte_reader.h).
class Encoder {
 public:
  explicit Encoder(std::vector<std::byte>& out) : out_(out) {}

  template <class T>
  void number(T value) {
    bytes({reinterpret_cast<const std::byte*>(&value), sizeof value});
  }
  void type(MetadataType type) { number(static_cast<std::uint32_t>(type)); }
  void bytes(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const std::size_t at = out_.size();
    out_.resize(at + bytes.size());
    std::memcpy(out_.data() + at, bytes.data(), bytes.size());
  }
  void text(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes(std::as_bytes(std::span(text)));
  }
  /// Appends a value without the number of its type.
  void value(const MetadataValue& value);

 private:
  void integer(MetadataType type, std::uint64_t bits);
  void array(const MetadataArray& array);

  std::vector<std::byte>& out_;
};

void Encoder::integer(MetadataType type, std::uint64_t bits) {
  switch (type) {
    case MetadataType::kUint8:
    case MetadataType::kInt8: return number(static_cast<std::uint8_t>(bits));
    case MetadataType::kUint16:
    case MetadataType::kInt16: return number(static_cast<std::uint16_t>(bits));
    case MetadataType::kUint32:
    case MetadataType::kInt32: return number(static_cast<std::uint32_t>(bits));
    default: return number(bits);
  }
}

void Encoder::array(const MetadataArray& array) {
  type(array.element_type);
  number(array.size);
  if (array.element_type == MetadataType::kString) {
    for (const std::string_view element : array.strings) text(element);
  } else if (array.element_type == MetadataType::kArray) {
    for (const MetadataValue& element : array.arrays) value(element);
  } else {
    bytes(array.bytes);
  }
}

void Encoder::value(const MetadataValue& given) {
  struct Visitor {
    Encoder& out;
    MetadataType type;
    void operator()(std::uint64_t v) const { out.integer(type, v); }
    void operator()(std::int64_t v) const { out.integer(type, static_cast<std::uint64_t>(v)); }
    void operator()(double v) const {
      type == MetadataType::kFloat32 ? out.number(static_cast<float>(v)) : out.number(v);
    }
    void operator()(bool v) const { out.number(static_cast<std::uint8_t>(v)); }
    void operator()(std::string_view v) const { out.text(v); }
    void operator()(const MetadataArray& v) const { out.array(v); }
  };
  std::visit(Visitor{*this, given.type}, given.value);
}

}  // namespace

void GgufHead::set_encoded(std::string_view key, std::vector<std::byte> value) {
  // The data are laid out with kAlignment, whatever alignment the copied model had.
  if (key == kAlignmentKey) return;
  const auto found = std::ranges::find(keys_, key, &Key::name);
  if (found == keys_.end()) {
    keys_.push_back({std::string(key), std::move(value)});
  } else {
    found->value = std::move(value);
  }
}

void GgufHead::set(std::string_view key, const MetadataValue& value) {
  std::vector<std::byte> bytes;
  Encoder out(bytes);
  out.type(value.type);
  out.value(value);
  set_encoded(key, std::move(bytes));
}

void GgufHead::set_u32(std::string_view key, std::uint32_t value) {
  set(key, {.type = MetadataType::kUint32, .value = std::uint64_t{value}});
}
void GgufHead::set_bool(std::string_view key, bool value) { set(key, {.type = MetadataType::kBool, .value = value}); }
void GgufHead::set_string(std::string_view key, std::string_view value) {
  set(key, {.type = MetadataType::kString, .value = value});
}

void GgufHead::set_strings(std::string_view key, std::span<const std::string> values) {
  std::vector<std::byte> bytes;
  Encoder out(bytes);
  out.type(MetadataType::kArray);
  out.type(MetadataType::kString);
  out.number<std::uint64_t>(values.size());
  for (const std::string& value : values) out.text(value);
  set_encoded(key, std::move(bytes));
}

void GgufHead::add_tensor(std::string_view name, std::span<const std::uint64_t> dims, DType type) {
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : dims) elements *= dim;
  const auto bytes = dtype_bytes(type, elements);
  OCTAVO_CHECK(bytes, "{}: {} elements are no whole blocks of {}", name, elements, dtype_info(type).name);
  const std::uint64_t offset = tensors_.empty() ? 0 : tensors_.back().offset + padded(tensors_.back().bytes);
  tensors_.push_back({std::string(name), {dims.begin(), dims.end()}, type, offset, *bytes});
}

std::uint64_t GgufHead::head_bytes() const {
  constexpr std::uint64_t kLength = sizeof(std::uint64_t), kNumber = sizeof(std::uint32_t);
  std::uint64_t bytes = kMagic.size() + sizeof(kVersion) + 2 * kLength;
  for (const Key& key : keys_) bytes += kLength + key.name.size() + key.value.size();
  for (const TensorRow& tensor : tensors_)
    bytes += kLength + tensor.name.size() + kNumber + tensor.dims.size() * kLength + kNumber + kLength;
  return padded(bytes);
}

std::vector<std::byte> GgufHead::encode() const {
  std::vector<std::byte> bytes;
  bytes.reserve(head_bytes());
  Encoder out(bytes);
  out.bytes(std::as_bytes(std::span(kMagic)));
  out.number(kVersion);
  out.number<std::uint64_t>(tensors_.size());
  out.number<std::uint64_t>(keys_.size());
  for (const Key& key : keys_) {
    out.text(key.name);
    out.bytes(key.value);
  }
  for (const TensorRow& tensor : tensors_) {
    out.text(tensor.name);
    out.number(static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) out.number(dim);
    out.number(static_cast<std::uint32_t>(tensor.type));
    out.number(tensor.offset);
  }
  bytes.resize(padded(bytes.size()));
  return bytes;
}

std::uint64_t GgufHead::file_bytes() const {
  const std::uint64_t head = head_bytes();
  return tensors_.empty() ? head : head + tensors_.back().offset + padded(tensors_.back().bytes);
}

}  // namespace octavo
