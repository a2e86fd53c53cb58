#include "source/folder/folder_source.h"

#include <algorithm>

#include "base/text.h"
#include "base/to_size.h"
#include "source/folder/layer_numbers.h"
#include "source/folder/sentence_keys.h"
#include "source/folder/tower.h"
#include "source/folder/word_keys.h"
#include "source/vision_names.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = "config.json", kVisionConfig = "vision_config";
constexpr JsonLimits kConfigLimits{.max_bytes = std::size_t{1} << 20, .max_values = std::size_t{1} << 16};

/// A file of JSON with its text.
struct JsonFile {
  static Result<JsonFile> read(const fs::path& path) {
    JsonFile file{.name = path.string(), .text = {}, .value = {}};
    OCTAVO_TRY(file.text, read_text_file(path, kConfigLimits.max_bytes));
    OCTAVO_TRY(file.value, read_json_object(file.text, path, kConfigLimits.max_values));
    return file;
  }
  /// The file's value as an object.
  JsonObject object() const { return {std::get<TemplateDict>(value), name}; }

  std::string name, text;
  TemplateValue value;
};

/// Reads how pictures are prepared: transformers 5 writes it into a file with other things, older versions into a file
/// of its own.
Result<std::optional<JsonFile>> read_processing(const fs::path& folder) {
  for (const std::string_view name : {"processor_config.json", "preprocessor_config.json"}) {
    std::error_code ignored;
    if (!fs::exists(folder / name, ignored)) continue;
    OCTAVO_TRY(JsonFile file, JsonFile::read(folder / name));
    if (name.starts_with("pre") || file.object().has("image_processor")) return file;
  }
  return std::nullopt;
}

/// The family by the model's own name for its architecture, of which there may be several.
Result<const Family*> family_of(const JsonObject& config) {
  const TemplateList* list = config.find_list("architectures");
  const auto* first = list == nullptr || list->empty() ? nullptr : std::get_if<std::string>(&list->front());
  if (first == nullptr) return fail("{} names no model", config.place("architectures"));
  const Family* family = find_family(*first);
  if (family == nullptr)
    return fail("{} is {}, supported are {}", config.place("architectures"), quote(*first), family_names());
  return family;
}

Result<void> refuse_quantized(const JsonObject& config, const Family& family) {
  OCTAVO_TRY(const auto quantization, config.object_if("quantization_config"));
  if (!quantization) return {};
  const auto method = quantization->text("quant_method");
  if (family.has_mxfp4 && method == "mxfp4") return {};
  return fail("{}: weights quantized by {} are not supported in a folder: expected F32, F16 or BF16",
              config.place("quantization_config"), quote(method.value_or("a method without name")));
}

}  // namespace

bool FolderSource::is_model(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kConfig, ignored);
}

Result<FolderSource> FolderSource::open(const fs::path& folder, const std::stop_token& stop, Math math) {
  OCTAVO_TRY(JsonFile file, JsonFile::read(folder / kConfig));
  const JsonObject config = file.object();
  OCTAVO_TRY(const Family* family, family_of(config));
  OCTAVO_TRY_VOID(refuse_quantized(config, *family));
  OCTAVO_TRY(const auto text_config, config.object_if("text_config"));
  const JsonObject language = text_config.value_or(config);

  FolderSource source;
  source.builder_.add_text("general.architecture", std::string(family->architecture));
  source.builder_.add_text("general.name", fs::weakly_canonical(folder).filename().string());
  OCTAVO_TRY_VOID(family->add_keys({language, config, std::string(family->architecture) + ".", source.builder_}));
  OCTAVO_TRY(const SentenceModules modules,
             add_sentence_keys(folder, std::string(family->architecture) + ".", source.builder_, source.texts_));
  OCTAVO_TRY_VOID(add_word_keys(folder, config, source.builder_, source.texts_));
  source.texts_.push_back(std::move(file.text));

  OCTAVO_TRY(source.checkpoint_, Checkpoint::open(folder, modules.dense, stop));
  OCTAVO_TRY(std::vector<NamedTensor> tensors,
             list_tensors(source.checkpoint_, *family, {.language = language, .whole = config, .math = math},
                          modules.rank, stop));
  OCTAVO_TRY_VOID(add_layer_numbers(source.checkpoint_, *family, source.builder_));
  source.add_tensors(std::move(tensors));
  source.note_files(folder);
  return source;
}

bool FolderSource::has_tower(const fs::path& folder) {
  if (!is_model(folder)) return false;
  const auto file = JsonFile::read(folder / kConfig);
  if (!file) return false;
  const auto family = family_of(file->object());
  return family && find_tower((*family)->tower) != nullptr && file->object().has(kVisionConfig);
}

Result<FolderSource> FolderSource::open_tower(const fs::path& folder, const std::stop_token& stop) {
  OCTAVO_TRY(JsonFile file, JsonFile::read(folder / kConfig));
  const JsonObject config = file.object();
  OCTAVO_TRY(const Family* family, family_of(config));
  const TowerFamily* tower = find_tower(family->tower);
  OCTAVO_TRY(const auto vision, config.object_if(kVisionConfig));
  if (tower == nullptr || !vision)
    return fail("{}: {} has no encoder of pictures that can be read", folder.string(), quote(family->model));
  OCTAVO_TRY(const auto text_config, config.object_if("text_config"));

  FolderSource source;
  source.builder_.add_text("general.architecture", std::string(vision_names::kArchitecture));
  source.builder_.add_text("general.name", fs::weakly_canonical(folder).filename().string());
  OCTAVO_TRY(std::optional<JsonFile> processing, read_processing(folder));
  std::optional<JsonObject> of_pictures;
  if (processing) {
    OCTAVO_TRY(const auto part, processing->object().object_if("image_processor"));
    of_pictures = part.value_or(processing->object());
  }
  OCTAVO_TRY_VOID(
      add_tower_keys(*tower, {*vision, text_config.value_or(config), config, of_pictures, source.builder_}));
  OCTAVO_TRY(source.checkpoint_, Checkpoint::open(folder, {}, stop));
  auto tensors = list_tower_tensors(source.checkpoint_, *tower, *vision, stop);
  if (!tensors) return fail("{}: {}", folder.string(), tensors.error().message);
  source.add_tensors(std::move(*tensors));
  source.texts_.push_back(std::move(file.text));
  if (processing) source.texts_.push_back(std::move(processing->text));
  source.note_files(folder);
  return source;
}

void FolderSource::add_tensors(std::vector<NamedTensor> tensors) {
  std::uint64_t offset = 0;
  for (NamedTensor& tensor : tensors) {
    const std::uint64_t cols = tensor.dims.front();
    std::uint64_t rows = 1;
    for (std::size_t i = 1; i < tensor.dims.size(); ++i) rows *= tensor.dims[i];
    const std::uint64_t bytes = tensor.data->bytes();
    builder_.directory().add({.name = builder_.keep(std::move(tensor.name)),
                              .offset = offset,
                              .dims = std::move(tensor.dims),
                              .tensor = {.type = tensor.type,
                                         .rows = static_cast<std::int64_t>(rows),
                                         .cols = static_cast<std::int64_t>(cols),
                                         .data = {}}});
    tensors_.push_back(std::move(tensor.data));
    offset += bytes;
  }
}

void FolderSource::note_files(const fs::path& folder) {
  files_ = {.path = folder, .format = "safetensors", .num_files = checkpoint_.files().size()};
  for (const SafetensorsFile& file : checkpoint_.files()) {
    files_.bytes += file.file().bytes().size();
    files_.modified_ns = std::max(files_.modified_ns, file.file().modified_ns());
  }
}

std::vector<std::span<const std::byte>> FolderSource::heads() const {
  std::vector<std::span<const std::byte>> heads;
  heads.reserve(texts_.size() + checkpoint_.files().size() + 1);
  for (const std::string& text : texts_) heads.push_back(std::as_bytes(std::span(text)));
  for (const SafetensorsFile& file : checkpoint_.files()) heads.push_back(std::as_bytes(std::span(file.header())));
  if (const auto words = get_string("tokenizer.huggingface.json")) heads.push_back(std::as_bytes(std::span(*words)));
  return heads;
}

/// Calls visit(tensor, offset in it, size) for the bytes from `offset` on.
template <class Visit>
void FolderSource::for_tensors(std::uint64_t offset, std::uint64_t size, const Visit& visit) const {
  const auto& rows = tensors();
  auto row = std::ranges::upper_bound(rows, offset, {}, &SourceTensor::offset);
  if (row != rows.begin()) --row;
  for (; row != rows.end() && size > 0; ++row) {
    const FolderTensor& tensor = *tensors_[to_size(row - rows.begin())];
    const std::uint64_t within = offset - row->offset;
    if (within >= tensor.bytes()) continue;
    const std::uint64_t count = std::min(size, tensor.bytes() - within);
    visit(tensor, within, count);
    offset += count;
    size -= count;
  }
}

Result<void> FolderSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  Result<void> result;
  std::uint64_t done = 0;
  for_tensors(offset, out.size(), [&](const FolderTensor& tensor, std::uint64_t within, std::uint64_t count) {
    if (result) result = tensor.read(within, out.subspan(done, count));
    done += count;
  });
  if (result && done != out.size()) return fail("{}: {} bytes at {} lie in no tensor", name(), out.size(), offset);
  return result;
}

void FolderSource::prefetch(std::uint64_t offset, std::uint64_t size) const {
  for_tensors(offset, size, [](const FolderTensor& tensor, std::uint64_t within, std::uint64_t count) {
    tensor.prefetch(within, count);
  });
}

void FolderSource::drop(std::uint64_t offset, std::uint64_t size) const {
  for_tensors(offset, size, [](const FolderTensor& tensor, std::uint64_t within, std::uint64_t count) {
    tensor.drop(within, count);
  });
}

}  // namespace octavo
