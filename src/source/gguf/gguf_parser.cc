#include "source/gguf/gguf_parser.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace octavo {
namespace {

/// The bytes of one value of a fixed-size type; 0 for strings and arrays.
std::uint64_t fixed_size(MetadataType type) {
  switch (type) {
    case MetadataType::kUint8:
    case MetadataType::kInt8:
    case MetadataType::kBool: return 1;
    case MetadataType::kUint16:
    case MetadataType::kInt16: return 2;
    case MetadataType::kUint32:
    case MetadataType::kInt32:
    case MetadataType::kFloat32: return 4;
    case MetadataType::kUint64:
    case MetadataType::kInt64:
    case MetadataType::kFloat64: return 8;
    case MetadataType::kString:
    case MetadataType::kArray: return 0;
  }
  return 0;
}

/// The likely form of a file that does not begin with "GGUF", for the error message.
std::string_view guess_format(std::string_view head) {
  if (head.starts_with("FUGG")) return " (a big-endian GGUF file; only little-endian ones are read)";
  if (head.starts_with("lmgg") || head.starts_with("tjgg") || head.starts_with("fmgg"))
    return " (a GGML file from before GGUF; convert the model again)";
  if (head.starts_with("version https://git-lfs")) return " (a Git LFS pointer: the model itself was not downloaded)";
  if (head.starts_with("PK\x03\x04")) return " (a zip archive; a PyTorch checkpoint must be converted to GGUF)";
  if (head.size() > 9 && head[8] == '{' && (head[9] == '"' || head[9] == '}'))
    return " (looks like a safetensors file; it must be converted to GGUF)";
  if (head.starts_with("<!DOCTYPE") || head.starts_with("<html")) return " (a web page: the download went wrong)";
  return "";
}

std::uint32_t swap_bytes(std::uint32_t v) { return v >> 24 | (v >> 8 & 0xFF00) | (v << 8 & 0xFF0000) | v << 24; }

/// a * b, or nullopt if it does not fit in 63 bits.
std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (b != 0 && a > kMax / b) return std::nullopt;
  return a * b;
}

std::string dims_text(std::span<const std::uint64_t> dims) {
  std::string text;
  for (const std::uint64_t dim : dims) text += (text.empty() ? "[" : ", ") + std::to_string(dim);
  return text + "]";
}

}  // namespace

GgufParser::GgufParser(std::span<const std::byte> bytes, ByteReader::Load load, const std::filesystem::path& path)
    : bytes_(bytes), reader_(bytes, path.string(), std::move(load)) {
  out_.files_ = {.path = path, .format = "GGUF", .bytes = bytes.size()};
  out_.bytes_ = bytes;
}

Result<GgufFile> GgufParser::parse() && {
  OCTAVO_TRY_VOID(parse_header());
  OCTAVO_TRY_VOID(parse_metadata());
  OCTAVO_TRY_VOID(parse_alignment());
  OCTAVO_TRY_VOID(parse_directory());
  out_.head_ = bytes_.first(reader_.offset());
  OCTAVO_TRY_VOID(refuse_older_q2_0());
  OCTAVO_TRY_VOID(place_tensors());
  OCTAVO_TRY_VOID(check_overlap());
  return std::move(out_);
}

Result<void> GgufParser::parse_header() {
  OCTAVO_TRY(const auto first, reader_.peek(64));
  const std::string_view head(reinterpret_cast<const char*>(first.data()), first.size());
  if (!head.starts_with("GGUF")) {
    if (std::string_view("GGUF").starts_with(head))
      return fail("{}: truncated: the file has {} bytes, the header of a GGUF file has 24", reader_.file(),
                  bytes_.size());
    return fail("{}: not a GGUF file: it begins with {}, expected 'GGUF'{}", reader_.file(), quote(head.substr(0, 4)),
                guess_format(head));
  }
  OCTAVO_TRY_VOID(reader_.take(4));
  OCTAVO_TRY(out_.files_.version, reader_.read<std::uint32_t>());
  const std::uint32_t swapped = swap_bytes(out_.files_.version);
  if (swapped >= 1 && swapped <= 3)
    return fail("{}: a big-endian GGUF file (version {}); only little-endian ones are read", reader_.file(), swapped);
  if (out_.files_.version == 1)
    return fail("{}: GGUF version 1, expected 2 or 3; convert the model again with a newer tool", reader_.file());
  if (out_.files_.version != 2 && out_.files_.version != 3)
    return fail("{}: GGUF version {} at offset 4, expected 2 or 3", reader_.file(), out_.files_.version);
  // A tensor's entry has at least a name's length, one letter, the number of dimensions, one dimension, a type and an
  // offset; a key's entry has at least a length, one letter, a type and a byte.
  reader_.set_context("the number of tensors");
  OCTAVO_TRY(num_tensors_, reader_.read_count(8 + 1 + 4 + 8 + 4 + 8, GgufLimits::kTensors));
  reader_.set_context("the number of metadata keys");
  OCTAVO_TRY(num_metadata_, reader_.read_count(8 + 1 + 4 + 1, GgufLimits::kMetadata));
  return {};
}

Result<std::string_view> GgufParser::read_name(std::string_view kind, std::uint64_t ordinal, std::size_t max_bytes) {
  const std::uint64_t at = reader_.offset();
  reader_.set_context(fmt::format("the name of {} {}", kind, ordinal));
  OCTAVO_TRY(const auto name, reader_.read_string());
  if (name.empty() || name.size() > max_bytes)
    return fail("{}: {} at offset {} has {} bytes, expected 1 to {}", reader_.file(), reader_.context(), at,
                name.size(), max_bytes);
  if (!is_valid_utf8(name))
    return fail("{}: {} at offset {} is not valid UTF-8: {}", reader_.file(), reader_.context(), at, quote(name));
  return name;
}

Result<MetadataType> GgufParser::read_type() {
  const std::uint64_t at = reader_.offset();
  OCTAVO_TRY(const auto id, reader_.read<std::uint32_t>());
  if (id >= kNumMetadataTypes)
    return fail("{}: {} at offset {} has type {}, expected 0 to {}", reader_.file(), reader_.context(), at, id,
                kNumMetadataTypes - 1);
  return static_cast<MetadataType>(id);
}

Result<void> GgufParser::parse_metadata() {
  for (std::uint64_t i = 0; i < num_metadata_; ++i) {
    OCTAVO_TRY(const auto key, read_name("metadata key", i, GgufLimits::kKeyBytes));
    reader_.set_context(fmt::format("the value of key {}", quote(key)));
    MetadataValue* value = out_.directory_.add(key);
    if (value == nullptr) return fail("{}: metadata key {} appears twice", reader_.file(), quote(key));
    OCTAVO_TRY(value->type, read_type());
    OCTAVO_TRY_VOID(read_value(*value, 0));
  }
  return {};
}

Result<void> GgufParser::read_value(MetadataValue& out, int depth) {
  if (out.type == MetadataType::kString) {
    OCTAVO_TRY(out.value, reader_.read_string());
    return {};
  }
  if (out.type == MetadataType::kArray) return read_array(out.value.emplace<MetadataArray>(), depth);
  const std::uint64_t at = reader_.offset();
  MetadataArray single;
  single.element_type = out.type;
  single.size = 1;
  OCTAVO_TRY(single.bytes, reader_.take(fixed_size(out.type)));
  if (out.type == MetadataType::kBool) OCTAVO_TRY_VOID(check_bools(single.bytes, at));
  out = element_of(single, 0);
  return {};
}

Result<void> GgufParser::check_bools(std::span<const std::byte> bytes, std::uint64_t offset) const {
  const auto bad = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (bad == bytes.end()) return {};
  return fail("{}: {} at offset {} is the bool {}, expected 0 or 1", reader_.file(), reader_.context(),
              offset + static_cast<std::uint64_t>(bad - bytes.begin()), static_cast<int>(*bad));
}

Result<void> GgufParser::read_array(MetadataArray& array, int depth) {
  if (depth >= GgufLimits::kArrayDepth)
    return fail("{}: {} at offset {} has arrays nested deeper than {}", reader_.file(), reader_.context(),
                reader_.offset(), GgufLimits::kArrayDepth);
  if (depth > 0 && ++num_nested_arrays_ > GgufLimits::kNestedArrays)
    return fail("{}: {} at offset {}: the file has more than {} nested arrays", reader_.file(), reader_.context(),
                reader_.offset(), GgufLimits::kNestedArrays);
  OCTAVO_TRY(array.element_type, read_type());
  constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  if (array.element_type == MetadataType::kString) {
    OCTAVO_TRY(array.size, reader_.read_count(8, kNoLimit));
    array.strings.reserve(array.size);
    for (std::uint64_t i = 0; i < array.size; ++i) {
      OCTAVO_TRY(const auto text, reader_.read_string());
      array.strings.push_back(text);
    }
  } else if (array.element_type == MetadataType::kArray) {
    OCTAVO_TRY(array.size, reader_.read_count(4 + 8, GgufLimits::kNestedArrays));
    array.arrays.reserve(array.size);
    for (std::uint64_t i = 0; i < array.size; ++i) {
      MetadataValue& inner = array.arrays.emplace_back();
      inner.type = MetadataType::kArray;
      OCTAVO_TRY_VOID(read_array(inner.value.emplace<MetadataArray>(), depth + 1));
    }
  } else {
    const std::uint64_t element_bytes = fixed_size(array.element_type);
    OCTAVO_TRY(array.size, reader_.read_count(element_bytes, kNoLimit));
    const std::uint64_t at = reader_.offset();
    OCTAVO_TRY(array.bytes, reader_.take(array.size * element_bytes));
    if (array.element_type == MetadataType::kBool) OCTAVO_TRY_VOID(check_bools(array.bytes, at));
  }
  return {};
}

Result<void> GgufParser::parse_alignment() {
  if (out_.find("general.alignment") == nullptr) return {};  // the format's default, 32
  OCTAVO_TRY(const auto alignment, out_.get_u32("general.alignment"));
  if (alignment < 8 || !std::has_single_bit(alignment))
    return fail("{}: key 'general.alignment' is {}, expected a power of two of at least 8", reader_.file(), alignment);
  out_.alignment_ = alignment;
  return {};
}

Result<void> GgufParser::parse_directory() {
  for (std::uint64_t i = 0; i < num_tensors_; ++i) {
    OCTAVO_TRY(const auto name, read_name("tensor", i, GgufLimits::kTensorNameBytes));
    if (out_.find_tensor(name) != nullptr) return fail("{}: tensor {} appears twice", reader_.file(), quote(name));
    reader_.set_context(fmt::format("the entry of tensor {}", quote(name)));
    OCTAVO_TRY(auto tensor, parse_tensor_info());
    tensor.name = name;
    out_.directory_.add(std::move(tensor));
  }
  return {};
}

// Leaves `offset` as the file has it: relative to the data section, whose place is known only after the last entry.
Result<SourceTensor> GgufParser::parse_tensor_info() {
  const std::string& file = reader_.file();
  const std::string& context = reader_.context();
  SourceTensor out;
  OCTAVO_TRY(const auto num_dims, reader_.read<std::uint32_t>());
  if (num_dims < 1 || num_dims > GgufLimits::kDims)
    return fail("{}: {} has {} dimensions, expected 1 to {}", file, context, num_dims, GgufLimits::kDims);
  std::optional<std::uint64_t> num_elements = 1;
  for (std::uint32_t d = 0; d < num_dims; ++d) {
    OCTAVO_TRY(const auto dim, reader_.read<std::uint64_t>());
    out.dims.push_back(dim);
    if (num_elements) num_elements = checked_multiply(*num_elements, dim);
  }
  if (std::find(out.dims.begin(), out.dims.end(), 0) != out.dims.end())
    return fail("{}: {} has the dimensions {}, expected none to be 0", file, context, dims_text(out.dims));
  if (!num_elements)
    return fail("{}: {} has the dimensions {}, whose product does not fit in 63 bits", file, context,
                dims_text(out.dims));

  OCTAVO_TRY(const auto type_id, reader_.read<std::uint32_t>());
  const auto type = dtype_from_id(type_id);
  if (!type)
    return fail("{}: {} has the type {} ({}), which is not supported{}; supported are {}", file, context,
                dtype_name_of_id(type_id), type_id, dtype_reason_of_id(type_id), supported_dtype_names());
  const auto per_block = static_cast<std::uint64_t>(dtype_info(*type).block_elements);
  if (out.dims[0] % per_block != 0)
    return fail("{}: {} has rows of {} weights, expected a multiple of {} for type {}", file, context, out.dims[0],
                per_block, dtype_info(*type).name);
  const auto size = dtype_bytes(*type, *num_elements);
  if (!size || *size > bytes_.size())
    return fail("{}: {} with dimensions {} of type {} is larger than the file of {} bytes", file, context,
                dims_text(out.dims), dtype_info(*type).name, bytes_.size());
  OCTAVO_TRY(out.offset, reader_.read<std::uint64_t>());

  out.tensor.type = *type;
  out.tensor.cols = static_cast<std::int64_t>(out.dims[0]);
  out.tensor.rows = static_cast<std::int64_t>(*num_elements / out.dims[0]);
  return out;
}

std::uint64_t GgufParser::aligned(std::uint64_t offset) const {
  const std::uint64_t mask = out_.alignment_ - std::uint64_t{1};
  return (offset + mask) & ~mask;
}

std::uint64_t GgufParser::num_data_bytes() const {
  const std::uint64_t begin = aligned(reader_.offset());
  return begin < bytes_.size() ? bytes_.size() - begin : 0;
}

/// Fails for the older Q2_0, which had blocks of 128 weights under the same number: less bytes, so tensors lie closer.
Result<void> GgufParser::refuse_older_q2_0() const {
  std::vector<std::uint64_t> begins = {num_data_bytes()};
  for (const SourceTensor& tensor : out_.tensors()) begins.push_back(tensor.offset);
  std::ranges::sort(begins);
  for (const SourceTensor& tensor : out_.tensors()) {
    const auto behind = std::ranges::upper_bound(begins, tensor.offset);
    if (tensor.tensor.type != DType::kQ2_0 || tensor.tensor.cols % 128 != 0 || behind == begins.end()) continue;
    const auto num_blocks = static_cast<std::uint64_t>(tensor.tensor.rows * tensor.tensor.cols) / 128;
    const std::uint64_t room = *behind - tensor.offset;
    if (room < num_blocks * 36 && room >= num_blocks * 34 && room <= aligned(num_blocks * 34))
      return fail(
          "{}: tensor {} has 34 bytes for 128 weights, an older form of Q2_0 that is not supported; expected 18 "
          "bytes for 64 weights",
          reader_.file(), quote(tensor.name));
  }
  return {};
}

Result<void> GgufParser::place_tensors() {
  const std::uint64_t data_begin = aligned(reader_.offset()), data_bytes = num_data_bytes();
  for (SourceTensor& tensor : out_.directory_.tensors()) {
    if (tensor.offset != aligned(tensor.offset))
      return fail("{}: tensor {} is at offset {} of the data, expected a multiple of the alignment {}", reader_.file(),
                  quote(tensor.name), tensor.offset, out_.alignment_);
    const auto num_elements = static_cast<std::uint64_t>(tensor.tensor.rows * tensor.tensor.cols);
    const std::uint64_t size = dtype_bytes(tensor.tensor.type, num_elements).value();
    if (tensor.offset > data_bytes || size > data_bytes - tensor.offset)
      return fail("{}: truncated: tensor {} has {} bytes at offset {} of the data, which has {} bytes", reader_.file(),
                  quote(tensor.name), size, tensor.offset, data_bytes);
    tensor.offset += data_begin;
    tensor.tensor.data = bytes_.subspan(tensor.offset, size);
  }
  return {};
}

Result<void> GgufParser::check_overlap() const {
  std::vector<const SourceTensor*> order;
  order.reserve(out_.tensors().size());
  for (const SourceTensor& tensor : out_.tensors()) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->offset + order[i - 1]->tensor.data.size() > order[i]->offset)
      return fail("{}: tensors {} and {} overlap at offset {}", reader_.file(), quote(order[i - 1]->name),
                  quote(order[i]->name), order[i]->offset);
  return {};
}

}  // namespace octavo
