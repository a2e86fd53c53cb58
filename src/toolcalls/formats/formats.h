// The rows of the table, a family of them in each file of this folder.
#pragma once

#include "toolcalls/tool_format.h"

namespace octavo {

extern const ToolFormat kApertusFormat, kAtemFormat, kBracketedFormat, kCommandFormat, kDeepseekFormat,
    kDeepseekR1Format, kDescribedFormat, kDsmlFormat, kGemmaFormat, kGenericFormat, kGlmFormat, kGraniteFormat,
    kHarmonyFormat, kHermesFormat, kFunctionaryFormat, kKimiFormat, kLfmFormat, kLlama4Format, kLlamaFormat,
    kMinimaxFormat, kMistralFormat, kMistralListFormat, kNemotronFormat, kQwenFormat, kSeedFormat, kSolarFormat;

}  // namespace octavo
