// Drafts: tokens that are guessed ahead of an answer and verified several in one step. They change when an answer
// comes, never which.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

/// The texts that drafts come from.
enum class DraftMode : std::uint8_t {
  kOff = 0,     // no token is guessed
  kNgram = 1,   // text of the prompt, the answer so far and Request::prediction that was followed once before
  kSuffix = 2,  // the same, and text of earlier answers in the request's cache domain
  kAuto = 2,    // the best that there is: kSuffix
};

/// The most tokens that a sequence drafts for one step.
inline constexpr int kMaxDraftTokens = 16;

}  // namespace octavo
