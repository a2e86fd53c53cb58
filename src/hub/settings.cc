#include "hub/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>

#include "base/ascii.h"

namespace octavo::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTokenBytes = 4096;
constexpr int kMaxStallSeconds = 3600;

std::optional<std::string> first_set(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto value = environment(name)) return value;
  return std::nullopt;
}

bool is_true(const std::optional<std::string>& text) {
  if (!text) return false;
  std::string upper = *text;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper == "1" || upper == "ON" || upper == "YES" || upper == "TRUE";
}

/// "~/models" in the home folder.
fs::path expanded(const std::string& text, const fs::path& home) {
  if (text.starts_with("~/") && !home.empty()) return home / text.substr(2);
  return text;
}

/// `name` in a folder that is known.
fs::path in(const fs::path& folder, const char* name) { return folder.empty() ? fs::path() : folder / name; }

void set_hub(Settings& settings, const Environment& environment, const fs::path& home, const fs::path& cache) {
  if (auto endpoint = environment("HF_ENDPOINT")) settings.endpoint = *endpoint;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  const auto named_home = environment("HF_HOME");
  const fs::path hf_home = named_home ? expanded(*named_home, home) : in(cache, "huggingface");
  const auto named_cache = first_set(environment, {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  settings.cache = named_cache ? expanded(*named_cache, home) : in(hf_home, "hub");
  settings.token = first_set(environment, {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}).value_or("");
  const auto named_token = environment("HF_TOKEN_PATH");
  settings.token_file = named_token ? expanded(*named_token, home) : in(hf_home, "token");
  settings.offline = is_true(first_set(environment, {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}));
  settings.ca_bundle = find_ca_bundle(environment);
  if (const auto text = environment("HF_HUB_DOWNLOAD_TIMEOUT")) {
    int num_seconds = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), num_seconds);
    if (error == std::errc() && num_seconds >= 1)
      settings.stall = std::chrono::seconds(std::min(num_seconds, kMaxStallSeconds));
  }
}

}  // namespace

Settings read_settings(const Environment& environment) {
  Settings settings;
  const fs::path home = environment("HOME").value_or("");
  // The specification wants an absolute path there and everything else ignored.
  const auto xdg = environment("XDG_CACHE_HOME");
  const fs::path cache = xdg && xdg->starts_with('/') ? fs::path(*xdg) : in(home, ".cache");
  set_hub(settings, environment, home, cache);
  settings.models = in(cache, "octavo/models");
  const auto llama_cache = environment("LLAMA_CACHE");
  settings.llama_cpp = llama_cache ? expanded(*llama_cache, home) : in(cache, "llama.cpp");
  if (!home.empty()) settings.lm_studio = {home / ".lmstudio/models", home / ".cache/lm-studio/models"};
  if (const auto ollama = environment("OLLAMA_MODELS")) {
    settings.ollama = {expanded(*ollama, home)};
  } else {
    if (!home.empty()) settings.ollama.push_back(home / ".ollama/models");
    settings.ollama.emplace_back("/usr/share/ollama/.ollama/models");
  }
  return settings;
}

Result<std::string> read_token(const Settings& settings) {
  std::string token(trimmed(settings.token));
  std::string where = "HF_TOKEN";
  std::error_code ignored;
  if (token.empty()) {
    if (settings.token_file.empty() || !fs::is_regular_file(settings.token_file, ignored)) return std::string();
    where = settings.token_file.string();
    std::ifstream file(settings.token_file, std::ios::binary);
    token.resize(kMaxTokenBytes + 1);
    file.read(token.data(), static_cast<std::streamsize>(token.size()));
    if (file.bad() || (file.fail() && !file.eof())) return fail("{}: cannot read the hub's token", where);
    token.resize(static_cast<std::string::size_type>(file.gcount()));
    token = std::string(trimmed(token));
  }
  const bool is_plain = std::ranges::all_of(token, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (token.size() > kMaxTokenBytes || !is_plain)
    return fail("{}: found no token of the hub in it, expected up to {} letters without blanks", where, kMaxTokenBytes);
  return token;
}

}  // namespace octavo::hub
