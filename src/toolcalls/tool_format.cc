#include "toolcalls/tool_format.h"

#include <algorithm>

#include "toolcalls/formats/formats.h"

namespace octavo {
namespace {

// Formats with more signs to be told by stand first.
constexpr std::array kFormats = {&kHarmonyFormat,   &kAtemFormat,    &kGigaChatFormat,    &kGigaChatMessageFormat,
                                 &kHunyuanFormat,   &kMiniCpmFormat, &kActionFormat,      &kFunctoolsFormat,
                                 &kGemmaFormat,     &kKimiFormat,    &kDsmlFormat,        &kDeepseekR1Format,
                                 &kDeepseekFormat,  &kSolarFormat,   &kMistralFormat,     &kMistralListFormat,
                                 &kSeedFormat,      &kQwenFormat,    &kGlmFormat,         &kMinimaxFormat,
                                 &kBracketedFormat, &kCommandFormat, &kNemotronFormat,    &kHermesFormat,
                                 &kGraniteFormat,   &kApertusFormat, &kFunctionaryFormat, &kLfmFormat,
                                 &kLlamaFormat,     &kLlama4Format,  &kDescribedFormat,   &kGenericFormat};

}  // namespace

std::span<const ToolFormat* const> tool_formats() { return kFormats; }

const ToolFormat& tool_format_of(std::string_view chat_template, bool takes_tools) {
  const auto fits = [&](const ToolFormat* format) {
    if (format == &kDescribedFormat) return false;  // has no signs: no template writes it
    if (!format->other_sign.empty() && chat_template.contains(format->other_sign)) return false;
    return std::ranges::all_of(format->signs, [&](std::string_view sign) { return chat_template.contains(sign); });
  };
  const ToolFormat& found = **std::ranges::find_if(kFormats, fits);  // the last one fits
  return takes_tools || &found != kFormats.back() ? found : kDescribedFormat;
}

const ToolFormat* find_tool_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, [](const ToolFormat* format) { return format->name; });
  return found == kFormats.end() ? nullptr : *found;
}

}  // namespace octavo
