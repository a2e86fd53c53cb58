// The engine behind the public interface: it puts its parts together and passes each call to the part that answers it.
//
//     submit: request_check, QueueUsage, RequestMaker        any thread
//     Driver: who drives; inbox, loop, statistics             any thread
//     Step: schedule, build, forward, draw                    the thread that drives
//     Answers, RequestTable: events and ends; who is active   the thread that drives
//
// It works on any ModelRunner; engine/load/load.cc puts the real one in.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "engine/answers/answers.h"
#include "engine/answers/drafting.h"
#include "engine/answers/mask_finder.h"
#include "engine/answers/queue_usage.h"
#include "engine/answers/request_table.h"
#include "engine/drive/driver.h"
#include "engine/drive/idle_release.h"
#include "engine/drive/statistics.h"
#include "engine/drive/step.h"
#include "engine/pictures/picture_vectors.h"
#include "engine/request_check.h"
#include "engine/request_maker.h"
#include "engine/resources_impl.h"
#include "engine/schedule/cost_model.h"
#include "engine/schedule/scheduler.h"
#include "engine/schedule/stored_prefixes.h"
#include "engine/text/model_text_impl.h"
#include "kv/block_feed.h"
#include "kv/kv_cache_manager.h"
#include "kv_events/kv_publisher.h"
#include "kv_store/kv_store.h"
#include "model/model_runner.h"

namespace octavo {

/// The parts of an engine. Members are destroyed last to first: a runner may refer to the resources and to the file.
struct EngineParts {
  std::unique_ptr<const ModelSource> source;        // the runner reads from it; null where all weights are packed
  std::unique_ptr<const ModelSource> draft_source;  // the files of a draft model; null: there is none
  std::shared_ptr<Resources> resources;
  TextParts text;
  std::unique_ptr<ModelRunner> runner;
  std::unique_ptr<PictureEncoder> encoder;  // null: the model reads texts alone
  PictureVectors::Settings picture_memory;
  bool prefix_cache = true;
  bool profile = false;             // the parts of steps are timed
  KvStoreSettings kv_store = {};    // what is kept on disk
  KvEventsSettings kv_events = {};  // who is told of blocks
  Scheduler::Limits limits;
  DraftOptions draft = {};
  IdleRelease::Times idle = {};
  QueueUsage::Bounds queue_bounds;  // the bounds of requests that wait for their first row
};

class EngineImpl final : public Engine {
 public:
  /// Error: the KV memory cannot hold two tokens.
  static Result<std::unique_ptr<EngineImpl>> create(EngineParts parts);

  ~EngineImpl() override;

  EngineStats stats() const override;
  Result<RequestId> submit(Request request, TokenCallback on_event) override;
  void cancel(RequestId id) override;
  bool step() override { return driver_.step(); }
  void run_until(std::stop_token stop) override { driver_.run_until(stop, parts_.idle); }
  void drain() override { driver_.drain(); }
  void release_memory(bool cached) override { driver_.release_memory(cached); }
  /// Times a few steps on made-up tokens for the cost model. Called before the first request; ends early once a stop is
  /// asked for.
  void calibrate(const std::stop_token& stop = {});

  /// The manager of the runner's KV memory.
  const KvCacheManager& kv() const { return kv_; }
  /// Checks that the KV cache is consistent, and every sequence agrees with it. May be called at any time; where
  /// OCTAVO_INTEGRITY_CHECKS is set, it runs after every step.
  Result<void> check_integrity() const { return requests_.check_integrity(); }

 private:
  /// The memory of sequences, and the part of it that outlives the process.
  struct Memory {
    std::unique_ptr<BlockFeed> feed = {};         // of `kv`; null: nobody is told of blocks
    std::unique_ptr<KvCacheManager> kv = {};      // manages the runner's memory
    std::unique_ptr<KvStore> store = {};          // null: nothing is stored
    std::shared_ptr<Inbox> inbox = {};            // woken by the store's thread
    std::unique_ptr<KvPublisher> publisher = {};  // reads the feed
  };
  static Result<Memory> make_memory(EngineParts& parts);
  static Result<void> make_publisher(const EngineParts& parts, Memory& memory);
  EngineImpl(EngineParts parts, const std::shared_ptr<const ModelTextImpl>& text, Memory memory);
  StepParts step_parts();

  const ModelTextImpl& text_;
  EngineParts parts_;  // without the text
  const Memory memory_;
  KvCacheManager& kv_;
  CostModel cost_;
  QueueUsage queue_;  // destroyed after the requests
  Scheduler scheduler_;
  std::optional<StoredPrefixes> stored_;
  StepPlan plan_;  // the plan of the current step
  Statistics statistics_;
  Drafting drafting_;
  RequestTable requests_;
  MaskFinder masks_;
  std::optional<PictureVectors> pictures_;
  Answers answers_;
  Step step_;
  Driver driver_;

  const RequestLimits request_limits_;
  const RequestMaker maker_;
  std::atomic<RequestId> next_id_ = 1;
};

}  // namespace octavo
