// The form in which the answers to a call are given: what is shown of them, and whether as they are made. A value
// without behaviour.
#pragma once

namespace octavo {

/// How a call's answers show their reasoning.
struct ShownReasoning {
  bool is_counted = false;      // usage says how many tokens it has
  bool is_shown = true;         // as reasoning_content
  bool has_both_names = false;  // and as reasoning
};

struct AnswerForm {
  bool stream = false;
  bool include_usage = false;     // of streams: usage behind the answer
  bool continuous_usage = false;  // and beside each part of it
  bool return_progress = false;   // of streams: how far the prompt is
  bool echo = false;              // the answer begins with the prompt
  bool return_token_ids = false;
  bool names_tokens_by_id = false;  // in log-probabilities, as "token_id:123"
  bool counts_prediction = false;   // usage says how much of the client's prediction was right
  int num_logprobs = -1;            // alternatives beside each token; 0: the token's own alone; -1: none asked for
  int num_prompt_logprobs = -1;     // the same of the prompt's tokens; of answers that are not streamed
  ShownReasoning reasoning = {};    // of chats
};

}  // namespace octavo
