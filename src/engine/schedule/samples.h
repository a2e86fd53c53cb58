// The tokens that a step samples: for which choice, and from which row of logits.
//
// Part of a StepPlan (step_plan.h), filled by a StepSampler. Only the thread that drives the engine may touch them.
#pragma once

#include <span>
#include <vector>

#include "sampler/sampler.h"

namespace octavo {

struct ActiveRequest;
struct Choice;

/// A token to sample for one choice.
struct Sample {
  std::span<const float> row;  // of logits; valid until the next rows are asked of the runner
  int position;                // of the token
  ActiveRequest* request;
  Choice* choice;      // null: there was no memory for the request's choices
  SampledToken token;  // token -1: its constraint allows none
  double ms = 0;       // that it took
  int planned = -1;    // index into StepPlan::sequences of the one with that row; -1: it was kept from an earlier step
  int first_drafted = 0;  // their number among the step's
  int logit_row = -1;     // the number of `row` among the batch's; -1: it was kept from an earlier one
  int num_drafted = 0;    // rows behind `row`, of drafted tokens, which are drawn from if the tokens are right
};

struct Samples {
  std::vector<Sample> all;
  std::size_t num_drawn = 0;  // leading ones whose tokens are drawn
  double ms = 0;              // that all of them took together

  void clear() {
    all.clear();
    num_drawn = 0;
    ms = 0;
  }
};

}  // namespace octavo
