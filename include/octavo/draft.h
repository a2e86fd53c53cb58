// Drafts: tokens that are guessed ahead of an answer and verified several in one step. They change when an answer
// comes, never which answer it is.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

/// The sources of drafts.
enum class DraftMode : std::uint8_t {
  kOff = 0,     // no token is guessed
  kNgram = 1,   // text that followed the same tokens in the prompt, the answer so far or Request::prediction
  kSuffix = 2,  // the same, and text of earlier answers in the request's cache domain
  kMtp = 3,     // the draft head that the model's file carries; loading fails where it carries none that is whole
  kAuto = 4,    // kSuffix, and kMtp where the file carries a head: for each draft the likelier of both
};

/// The most tokens that a sequence drafts for one step.
inline constexpr int kMaxDraftTokens = 16;

}  // namespace octavo
