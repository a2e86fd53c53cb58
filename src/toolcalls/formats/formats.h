// The rows of the table, a family of them in each file of this folder.
#pragma once

#include "toolcalls/tool_format.h"

namespace octavo {

extern const ToolFormat kActionFormat, kApertusFormat, kAtemFormat, kBracketedFormat, kCommandFormat, kDeepseekFormat,
    kDeepseekR1Format, kDescribedFormat, kDsmlFormat, kFunctionaryFormat, kFunctoolsFormat, kGemmaFormat,
    kGenericFormat, kGigaChatFormat, kGigaChatMessageFormat, kGlmFormat, kGraniteFormat, kHarmonyFormat, kHermesFormat,
    kHunyuanFormat, kKimiFormat, kLfmFormat, kLlama4Format, kLlamaFormat, kMiniCpmFormat, kMinimaxFormat,
    kMistralFormat, kMistralListFormat, kNemotronFormat, kQwenFormat, kSeedFormat, kSolarFormat;

}  // namespace octavo
