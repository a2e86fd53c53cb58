#include "source/folder/pooling_keys.h"

#include <optional>

#include "base/text.h"
#include "json/json_file.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 16;
constexpr std::size_t kMaxValues = 256;

struct Mode {
  std::string_view flag;  // of the file
  std::string_view name;  // of newer files' pooling_mode
  std::uint64_t number;   // GGUF's; 0: not supported
};
constexpr Mode kModes[] = {{"pooling_mode_mean_tokens", "mean", 1},
                           {"pooling_mode_cls_token", "cls", 2},
                           {"pooling_mode_lasttoken", "lasttoken", 3},
                           {"pooling_mode_max_tokens", "max", 0},
                           {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", 0},
                           {"pooling_mode_weightedmean_tokens", "weightedmean", 0}};

}  // namespace

Result<void> add_pooling_keys(const fs::path& folder, const std::string& prefix, DirectoryBuilder& out,
                              std::vector<std::string>& texts) {
  const fs::path path = folder / "1_Pooling" / "config.json";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  OCTAVO_TRY(std::string text, read_text_file(path, kMaxBytes));
  OCTAVO_TRY(const TemplateValue value, read_json_object(text, path, kMaxValues));
  const std::string name = path.string();
  const JsonObject settings(std::get<TemplateDict>(value), name);
  std::optional<Mode> chosen;
  for (const Mode& mode : kModes) {
    OCTAVO_TRY(bool is_on, settings.flag_or(mode.flag, false));
    if (settings.has("pooling_mode")) {
      OCTAVO_TRY(const std::string_view given, settings.text("pooling_mode"));
      is_on = is_on || given == mode.name;
    }
    if (!is_on) continue;
    if (chosen || mode.number == 0)
      return fail("{} is on: expected one of mean, cls, last token alone", settings.place(mode.flag));
    chosen = mode;
  }
  if (chosen) out.add_u32(prefix + "pooling_type", chosen->number);
  texts.push_back(std::move(text));
  return {};
}

}  // namespace octavo
