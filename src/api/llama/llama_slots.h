// GET /slots of llama.cpp's server: which answers are being made, how far they are, and how much of their prompts was
// cached. It shows no texts, since whoever may see it sees the figures of all clients.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// A free function without state; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <span>
#include <string>

#include "octavo/request.h"

namespace octavo {

/// An answer whose request the engine has, and which has not ended.
struct RunningAnswer {
  std::string model;           // the model's id
  std::string device;          // the device that computes it
  bool is_drafted = false;     // its next tokens are guessed by a drafter
  int max_context = 0;         // in tokens
  PromptProgress prompt = {};  // no tokens while the request waits
  int prompt_tokens = 0;       // all tokens of the prompt
  int generated_tokens = 0;
};

/// A free place, for one more answer.
struct FreePlace {
  std::string device;
  int max_context = 0;
  bool is_drafted = false;  // an answer there would be drafted, unless it says otherwise
};

/// One object for each answer, then objects for free places, until there are `num_places`. `threads`: how many compute,
/// for all answers together.
boost::json::array llama_slots(std::span<const RunningAnswer> running, std::size_t num_places, const FreePlace& free,
                               int threads);

}  // namespace octavo
