// GET /slots of llama.cpp's server: which answers are being made, how far they are, and how much of their prompts was
// cached. No texts: whoever may see this sees the figures of all clients.
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
//
// A free function without state; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <span>
#include <string>

#include "octavo/request.h"

namespace octavo {

/// An answer of which the engine has the request, and which has not ended.
struct RunningAnswer {
  std::string model;           // its id
  std::string device;          // that computes it
  bool is_drafted = false;     // its next tokens are guessed
  int max_context = 0;         // tokens
  PromptProgress prompt = {};  // of no tokens while it waits
  int prompt_tokens = 0;       // of it
  int generated_tokens = 0;
};

/// A place that is free.
struct FreePlace {
  std::string device;
  int max_context = 0;
  bool is_drafted = false;  // an answer that says nothing of it would be
};

/// One object for each answer; behind them, up to `num_places`, those of places that are free.
boost::json::array llama_slots(std::span<const RunningAnswer> running, std::size_t num_places, const FreePlace& free);

}  // namespace octavo
