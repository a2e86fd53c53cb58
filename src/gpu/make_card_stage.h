// Makes a stage on a card, where there is one and where that is wanted.
#pragma once

#include "model/runner_request.h"
#include "stage/stage.h"

namespace octavo::gpu {

/// The maker of a stage on the first card, for a request whose device is not the processor; none where no card is there
/// and none must be. Where the request names no amount of KV memory, it is given as much as the card has beside the
/// weights. Error: there must be a card, and there is none.
Result<MakeStage> card_stage_for(RunnerRequest& request);

}  // namespace octavo::gpu
