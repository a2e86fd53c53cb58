// octavo kv verify: blocks of a sample of files are computed again, and their bits compared.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands.h"
#include "octavo/engine.h"

namespace octavo::cli {

struct VerifyOptions {
  std::string model = {};
  EngineOptions engine = {};
  std::int64_t sample = 16;  // files; 0: all
};

/// Exit code 0: all blocks that were compared have the bits that computing gives, and no file is damaged; 1: else.
Result<int> verify(const std::string& folder, const VerifyOptions& options, Context& context);

}  // namespace octavo::cli
