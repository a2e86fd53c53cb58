#include "toolcalls/tool_format.h"

#include <algorithm>

#include "toolcalls/formats/formats.h"

namespace octavo {
namespace {

// Those with more to be told by stand first.
constexpr std::array kFormats = {
    &kHarmonyFormat,     &kGemmaFormat,       &kKimiFormat,     &kDsmlFormat,   &kDeepseekFormat, &kSolarFormat,
    &kMistralFormat,     &kMistralListFormat, &kSeedFormat,     &kQwenFormat,   &kGlmFormat,      &kMinimaxFormat,
    &kBracketedFormat,   &kCommandFormat,     &kNemotronFormat, &kHermesFormat, &kGraniteFormat,  &kApertusFormat,
    &kFunctionaryFormat, &kLfmFormat,         &kLlamaFormat,    &kGenericFormat};

}  // namespace

std::span<const ToolFormat* const> tool_formats() { return kFormats; }

const ToolFormat& tool_format_of(std::string_view chat_template) {
  const auto fits = [&](const ToolFormat* format) {
    if (!format->other_sign.empty() && chat_template.contains(format->other_sign)) return false;
    return std::ranges::all_of(format->signs, [&](std::string_view sign) { return chat_template.contains(sign); });
  };
  return **std::ranges::find_if(kFormats, fits);  // the last one fits
}

const ToolFormat* find_tool_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, [](const ToolFormat* format) { return format->name; });
  return found == kFormats.end() ? nullptr : *found;
}

}  // namespace octavo
