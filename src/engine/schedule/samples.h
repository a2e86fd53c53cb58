// The tokens that a step samples: for which choice each is, and from which row of logits.
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
  std::span<const float> row;  // the row's logits; valid until other rows are asked of the runner
  int position;                // the position of the token that is sampled
  ActiveRequest* request;
  Choice* choice;         // null: there was no memory for the request's choices
  SampledToken token;     // token -1: its constraint allows no token
  double ms = 0;          // the time of the draw
  int planned = -1;       // an index into StepPlan::sequences; -1: the row was kept from an earlier step
  int first_drafted = 0;  // index of the first among the step's drafted rows
  int logit_row = -1;     // index of `row` among the batch's rows of logits; -1: it was kept from an earlier step
  int num_drafted = 0;    // how many drafted rows follow `row`; they are drawn from if their tokens are right
};

struct Samples {
  std::vector<Sample> all;
  std::size_t num_drawn = 0;  // how many of them, from the first on, are drawn
  double ms = 0;              // the time of all draws together

  void clear() {
    all.clear();
    num_drawn = 0;
    ms = 0;
  }
};

}  // namespace octavo
