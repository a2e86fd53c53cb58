// The fields about drafts: how many tokens may be guessed, and a text that the answer is expected to be near to.
// Constants; any thread.
#pragma once

#include "api/api_field.h"

namespace octavo {

extern const FieldTable kDraftFields;

}  // namespace octavo
