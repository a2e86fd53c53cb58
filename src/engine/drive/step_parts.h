// The parts of an engine that a step works with.
//
// Plain references: all must outlive whoever holds them. Only the thread that drives the engine may use them.
#pragma once

#include "base/thread_pool.h"
#include "engine/answers/answers.h"
#include "engine/answers/drafting.h"
#include "engine/answers/request_table.h"
#include "engine/drive/inbox.h"
#include "engine/pictures/picture_vectors.h"
#include "engine/schedule/active_engines.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "engine/schedule/step_plan.h"
#include "engine/schedule/stored_prefixes.h"
#include "kv/kv_cache_manager.h"
#include "model/model_runner.h"

namespace octavo {

struct StepParts {
  KvCacheManager& kv;
  ModelRunner& runner;
  ThreadPool& threads;
  const ActiveEngines& active_engines;  // counts all engines that share the threads
  Scheduler& scheduler;
  CostModel& cost;
  StepPlan& plan;  // filled anew in each step
  RequestTable& requests;
  Answers& answers;
  MaskFinder& masks;
  Drafting& drafting;
  const Inbox& inbox;        // says which requests are to end
  EngineStats& counts;       // the counters of steps and their times
  StoredPrefixes* stored;    // null: no prefix is kept on disk
  PictureVectors* pictures;  // null: the model reads texts alone
};

/// Lets the runner compute the plan's batch, or its guesses.
BatchOutcome compute_batch(const StepParts& parts);
BatchOutcome compute_guesses(const StepParts& parts);

}  // namespace octavo
