// The option of `octavo serve` that lets clients have models fetched from the hub, and the way from its requests there.
//
// Free functions. The context must outlive what they set; the rest is called by the server (server/pull_options.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/command_line.h"
#include "cli/context.h"
#include "cli/pulled_models.h"
#include "server/service.h"

namespace octavo::cli {

struct AllowedPulls {
  bool are_allowed = false;
  std::uint64_t max_bytes = 0;  // that they may write; 0: any number
  std::string keys = {};        // names between commas; "*": all
};
void add_pull_options(Command& command, AllowedPulls& pulls);

/// Sets ServiceOptions::pull, whose keys are read already, where pulls are allowed. `pulled`: notes what was fetched.
/// Errors: nothing may be asked of a hub; there are keys and nobody says whose pulls are allowed, or the other way
/// round.
Result<void> allow_pulls(const AllowedPulls& pulls, std::shared_ptr<PulledModels> pulled,
                         server::ServiceOptions& service, Context& context);

}  // namespace octavo::cli
