#include "source/folder/safetensors_file.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "json/json_file.h"
#include "json/json_text.h"

namespace octavo {
namespace {

constexpr std::string_view kComments = "__metadata__";
constexpr std::size_t kValuesOfTensor = 16;  // the most in the header: kMaxDims, two offsets, three members, itself

/// The bytes of an element; none for an unknown type.
std::optional<std::uint64_t> element_bytes(std::string_view dtype) {
  struct Row {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr Row kRows[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
                           {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
                           {"F32", 4},  {"F64", 8}, {"I64", 8}, {"U64", 8}};
  const auto found = std::ranges::find(kRows, dtype, &Row::name);
  if (found == std::end(kRows)) return std::nullopt;
  return found->bytes;
}

/// A list of whole numbers, at most `most` of them.
Result<std::vector<std::uint64_t>> sizes_of(const JsonObject& tensor, std::string_view name, std::size_t most) {
  const TemplateValue* value = tensor.find(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<TemplateList>(value);
  if (list == nullptr || list->size() > most)
    return fail("{} is {}, expected a list of at most {} numbers", tensor.place(name),
                value == nullptr ? "missing" : describe_json(*value), most);
  std::vector<std::uint64_t> sizes;
  for (const TemplateValue& element : *list) {
    const auto* number = std::get_if<std::int64_t>(&element);
    if (number == nullptr || *number < 0)
      return fail("{} has {}, expected whole numbers from 0", tensor.place(name), describe_json(element));
    sizes.push_back(static_cast<std::uint64_t>(*number));
  }
  return sizes;
}

/// The bytes of all elements; none where 64 bits do not hold the number.
std::optional<std::uint64_t> bytes_of(std::uint64_t element, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = element;
  for (const std::uint64_t dim : shape)
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  return bytes;
}

Result<StoredTensor> parse_tensor(const std::string& name, const JsonObject& tensor, std::uint64_t data_begin,
                                  std::uint64_t data_bytes) {
  StoredTensor out{.name = name, .dtype = {}};
  OCTAVO_TRY(const std::string_view dtype, tensor.text("dtype"));
  out.dtype = dtype;
  OCTAVO_TRY(out.shape, sizes_of(tensor, "shape", SafetensorsFile::kMaxDims));
  OCTAVO_TRY(const auto offsets, sizes_of(tensor, "data_offsets", 2));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes)
    return fail("{} do not lie within the {} bytes of data", tensor.place("data_offsets"), data_bytes);
  const auto element = element_bytes(dtype);
  if (!element) return fail("{} is {}, which is no known type", tensor.place("dtype"), quote(dtype));
  const auto expected = bytes_of(*element, out.shape);
  out.offset = data_begin + offsets[0];
  out.bytes = offsets[1] - offsets[0];
  if (expected != out.bytes)
    return fail("{}: found {} bytes, expected those of its shape and type", tensor.place("data_offsets"), out.bytes);
  return out;
}

}  // namespace

Result<std::vector<StoredTensor>> parse_safetensors_header(std::string_view header, std::uint64_t data_begin,
                                                           std::uint64_t file_bytes, const std::string& name) {
  std::size_t values_left = SafetensorsFile::kMaxTensors * kValuesOfTensor;
  const auto value = read_json_object(header, values_left);
  if (!value) return fail("{}: header: {}", name, value.error().message);
  std::vector<StoredTensor> tensors;
  for (const auto& [tensor, row] : std::get<TemplateDict>(*value)) {
    if (tensor == kComments) continue;
    if (tensors.size() == SafetensorsFile::kMaxTensors)
      return fail("{}: has more than {} tensors", name, SafetensorsFile::kMaxTensors);
    OCTAVO_TRY(const JsonObject object, JsonObject::of(row, name, fmt::format("tensor {}: ", quote(tensor))));
    OCTAVO_TRY(tensors.emplace_back(), parse_tensor(tensor, object, data_begin, file_bytes - data_begin));
  }
  std::ranges::sort(tensors, {}, &StoredTensor::name);
  const auto twice = std::ranges::adjacent_find(tensors, {}, &StoredTensor::name);
  if (twice != tensors.end()) return fail("{}: has two tensors named {}", name, quote(twice->name));
  std::ranges::sort(tensors, {}, [](const StoredTensor& t) { return std::pair(t.offset, t.bytes); });
  for (std::size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i - 1].offset + tensors[i - 1].bytes > tensors[i].offset)
      return fail("{}: tensors {} and {} overlap", name, quote(tensors[i - 1].name), quote(tensors[i].name));
  return tensors;
}

Result<void> SafetensorsFile::read_header() {
  const std::string name = file_.path().string();
  const std::uint64_t size = file_.bytes().size();
  std::uint64_t length = 0;
  if (size < sizeof length) return fail("{}: has {} bytes, expected a safetensors file", name, size);
  OCTAVO_TRY_VOID(file_.read(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > kMaxHeaderBytes || length > size - sizeof length)
    return fail("{}: found a header of {} bytes in a file of {}, expected a safetensors file", name, length, size);
  header_.resize(length);
  OCTAVO_TRY_VOID(file_.read(sizeof length, std::as_writable_bytes(std::span(header_))));
  OCTAVO_TRY(tensors_, parse_safetensors_header(header_, sizeof length + length, size, name));
  return {};
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  OCTAVO_TRY(MappedFile mapped, MappedFile::open(path));
  SafetensorsFile file(std::move(mapped));
  OCTAVO_TRY_VOID(file.read_header());
  return file;
}

}  // namespace octavo
