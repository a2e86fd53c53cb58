#include "hub/ollama.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/string.hpp>
#include <fstream>
#include <optional>

#include "base/to_size.h"
#include "hub/digest.h"
#include "hub/model_ref.h"
#include "json/json_cursor.h"
#include "json/json_document.h"

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxManifestBytes = 1U << 20;
constexpr std::size_t kMaxValues = 1U << 14;
constexpr std::size_t kMaxModels = 4096;
constexpr std::string_view kModelType = "application/vnd.ollama.image.model";
constexpr std::string_view kHash = "sha256:";

std::optional<std::string> read_small(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxManifestBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(to_size(file.gcount()));
  if (text.empty() || text.size() > kMaxManifestBytes) return std::nullopt;
  return text;
}

/// "registry.ollama.ai/library/llama3.2/3b" is "llama3.2:3b". None: it is no name of a model.
std::optional<std::string> name_of(const fs::path& relative) {
  std::vector<std::string> parts;
  for (const fs::path& part : relative) parts.push_back(part.string());
  constexpr std::size_t kParts = 4;  // host, namespace, name, tag
  if (parts.size() != kParts || !is_safe_path(relative.string())) return std::nullopt;
  const std::string tag = parts.back();
  parts.pop_back();
  if (parts.front() == "registry.ollama.ai") {
    parts.erase(parts.begin());
    if (parts.front() == "library") parts.erase(parts.begin());
  }
  return fmt::format("{}:{}", fmt::join(parts, "/"), tag);
}

}  // namespace

std::vector<OllamaModel> list_ollama(const fs::path& folder) {
  std::vector<OllamaModel> models;
  const fs::path manifests = folder / "manifests";
  std::error_code error;
  fs::recursive_directory_iterator it(manifests, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && it != end && models.size() < kMaxModels;
       it.increment(error)) {
    std::error_code ignored;
    constexpr int kDeepest = 3;
    if (it.depth() >= kDeepest) it.disable_recursion_pending();
    if (it.depth() != kDeepest || !it->is_regular_file(ignored)) continue;
    const auto name = name_of(it->path().lexically_relative(manifests));
    const auto text = name ? read_small(it->path()) : std::nullopt;
    if (!text) continue;
    const auto hash = parse_ollama_manifest(*text);
    if (hash) models.push_back({.name = *name, .blob = folder / "blobs" / ("sha256-" + *hash)});
  }
  std::ranges::sort(models, {}, &OllamaModel::name);
  return models;
}

Result<std::string> parse_ollama_manifest(std::string_view text) {
  const auto object = parse_json_object(text, {.max_bytes = kMaxManifestBytes, .max_values = kMaxValues});
  if (!object) return fail("{}", object.error().message);
  const JsonCursor layers = JsonCursor(*object)["layers"];
  const boost::json::array* list = layers.if_array();
  if (list == nullptr) return fail("found no 'layers', expected an array");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const boost::json::string* type = layers[i]["mediaType"].if_string();
    if (type == nullptr || *type != kModelType) continue;
    const boost::json::string* digest = layers[i]["digest"].if_string();
    const std::string_view written = digest == nullptr ? std::string_view() : std::string_view(*digest);
    const auto hash = written.starts_with(kHash) ? hash_of_etag(written.substr(kHash.size())) : std::nullopt;
    constexpr std::size_t kDigits = 64;
    if (hash && hash->size() == kDigits) return *hash;
    return fail("found a model whose 'digest' is no SHA-256");
  }
  return fail("found no layer of the type {}", kModelType);
}

}  // namespace octavo::hub
