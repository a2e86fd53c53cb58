// The fields about drafts: how many tokens may be guessed, and a text that the answer is expected to resemble.
#pragma once

#include "api/call/api_field.h"

namespace octavo {

namespace field {

void take_speculation(FieldReader& reader, const ApiField& field);

constexpr ApiField speculation() {
  return any("speculation", "true",
             "tokens are guessed ahead, and come sooner where the guess is right; `false`: none; `{\"max\": N}`: N at "
             "most, up to 16. The answer is the same",
             take_speculation);
}

}  // namespace field

extern const FieldTable kDraftFields;

}  // namespace octavo
