// The parts of an engine that a step works with.
//
// Plain references: all of it must outlive whoever holds them. Only the thread that drives the engine may use them.
#pragma once

#include "base/thread_pool.h"
#include "engine/active_engines.h"
#include "engine/answers.h"
#include "engine/cost_model.h"
#include "engine/drafting.h"
#include "engine/inbox.h"
#include "engine/request_table.h"
#include "engine/scheduler.h"
#include "engine/step_plan.h"
#include "kv/kv_cache_manager.h"
#include "model/model_runner.h"

namespace octavo {

struct StepParts {
  KvCacheManager& kv;
  ModelRunner& runner;
  ThreadPool& threads;
  const ActiveEngines& active_engines;  // of all that share the threads
  Scheduler& scheduler;
  CostModel& cost;
  StepPlan& plan;  // filled anew in each step
  RequestTable& requests;
  Answers& answers;
  MaskFinder& masks;
  Drafting& drafting;
  const Inbox& inbox;   // requests that are to end
  EngineStats& counts;  // steps and their times are counted here
};

/// Has the runner compute the plan's batch.
BatchOutcome compute_batch(const StepParts& parts);

}  // namespace octavo
