// The form in which the answers to a call are given: what is shown of them, and whether as they are made. A value
// without behaviour.
#pragma once

namespace octavo {

/// How a call's answers show their reasoning.
struct ShownReasoning {
  bool is_counted = false;      // usage says how many tokens the reasoning has
  bool is_shown = true;         // the answer has it as reasoning_content
  bool has_both_names = false;  // the answer has it as reasoning, too
};

struct AnswerForm {
  bool stream = false;
  bool include_usage = false;     // a stream ends with a chunk that has the usage
  bool continuous_usage = false;  // each chunk of a stream has the usage so far
  bool return_progress = false;   // a stream says how far the prompt is computed
  bool echo = false;              // the answer begins with the prompt
  bool return_token_ids = false;
  bool names_tokens_by_id = false;  // log-probabilities name tokens as "token_id:123"
  bool counts_prediction = false;   // usage says how much of the client's prediction was right
  int num_logprobs = -1;            // alternatives beside each token; 0: the token's own alone; -1: none asked for
  int num_prompt_logprobs = -1;     // of the prompt's tokens; only where the answer is not streamed
  ShownReasoning reasoning = {};    // read by chats alone
};

}  // namespace octavo
