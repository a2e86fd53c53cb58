// Makes a stage on a card, where there is a card and one is wanted.
#pragma once

#include "model/runner_request.h"
#include "stage/stage.h"

namespace octavo::gpu {

/// The maker of a stage on the first card, for a request whose device is not the processor; none where there is no card
/// and none is demanded. Where the request leaves the amount of KV memory open, it is set to what the card has beside
/// the weights. Error: a card is demanded, and there is none.
Result<MakeStage> card_stage_for(RunnerRequest& request);

}  // namespace octavo::gpu
