// octavo kv verify: computes the blocks of a sample of files again, and compares their bits.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands.h"
#include "octavo/engine.h"

namespace octavo::cli {

struct VerifyOptions {
  std::string model = {};
  EngineOptions engine = {};
  std::int64_t sample = 16;  // how many files; 0: all
};

/// Gives the exit code. 0: all compared blocks have the bits that computing gives, and no file is damaged; 1: else.
Result<int> verify(const std::string& folder, const VerifyOptions& options, Context& context);

}  // namespace octavo::cli
