// The models of a server: who is loaded, who waits, who goes. Time is the test's own.
#include "server/model_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/fields/keep_alive.h"
#include "api/scripted_engine.h"

namespace octavo::server {
namespace {

using namespace std::chrono_literals;
using test::EngineScript;
using test::ScriptedEngine;
using testing::HasSubstr;
using State = ModelSlot::State;

/// A model of a test: its size, and how it loads.
struct TestModel {
  EngineScript script = {};
  std::atomic<bool> load_is_held = false;
  std::atomic<bool> load_fails = false;
  std::atomic<bool> load_heeds_stops = true;
  std::atomic<int> num_loads = 0, num_stops = 0;
};

class Models : public testing::Test {
 protected:
  ~Models() override {
    for (TestModel& model : models_) model.load_is_held = false;
  }
  ModelEntry entry(const std::string& name, std::uint64_t bytes) {
    TestModel& model = models_.emplace_back();
    model.script.weight_bytes = bytes;
    return {.names = {name},
            .load = [&model](const std::stop_token& stop) -> Result<std::unique_ptr<Engine>> {
              ++model.num_loads;
              while (model.load_is_held && !(stop.stop_requested() && model.load_heeds_stops))
                std::this_thread::sleep_for(1ms);
              if (stop.stop_requested()) {
                ++model.num_stops;
                return fail("it was stopped");
              }
              if (model.load_fails) return fail("a wheel is missing");
              return std::make_unique<ScriptedEngine>(model.script);
            },
            .memory_bytes = bytes};
  }
  void make(std::vector<ModelEntry> entries) {
    table_ = std::make_unique<ModelTable>(options_, std::move(entries), [] {});
  }
  /// Two of 60 where 100 is room.
  void make_two() {
    options_.models.memory_bytes = 100;
    std::vector<ModelEntry> entries;
    entries.push_back(entry("a", 60));
    entries.push_back(entry("b", 60));
    make(std::move(entries));
  }
  ModelSlot& slot(const std::string& name) { return *table_->find(name); }
  std::unique_ptr<ModelTable::LoadWait> wait(const std::string& name, const std::string& owner = "somebody") {
    return std::make_unique<ModelTable::LoadWait>(*table_, slot(name), owner, [this] { ++num_told_; }, now_);
  }
  /// Lets threads do what they do, in a few seconds of the table's time at most.
  bool until(const std::function<bool()>& condition) {
    for (int i = 0; i < 5000; ++i) {
      table_->advance(now_ += 1ms);
      if (condition()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
  ModelLease load(const std::string& name) {
    const auto waiting = wait(name);
    EXPECT_TRUE(until([&] { return waiting->is_over(); }));
    auto lease = waiting->take();
    EXPECT_TRUE(lease.has_value()) << lease.error().message;
    return lease ? std::move(*lease) : ModelLease();
  }

  std::deque<TestModel> models_;
  ServerOptions options_;
  std::unique_ptr<ModelTable> table_;
  ModelTable::Clock::time_point now_ = ModelTable::Clock::now();
  int num_told_ = 0;
};

TEST_F(Models, AreLoadedWhenTheyAreWaitedForAndNotBefore) {
  make_two();
  table_->advance(now_);
  EXPECT_TRUE(table_->is_started());
  EXPECT_EQ(slot("a").state(), State::kUnloaded);
  const auto first = wait("a");
  EXPECT_FALSE(first->is_over());
  EXPECT_EQ(slot("a").state(), State::kLoading);
  const auto second = wait("a");
  ASSERT_TRUE(until([&] { return first->is_over(); }));
  EXPECT_TRUE(second->is_over());
  EXPECT_EQ(num_told_, 2);
  const auto lease = first->take();
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->model().id, "a");
  EXPECT_EQ(models_[0].num_loads, 1);
  EXPECT_EQ(models_[1].num_loads, 0);
  const auto third = wait("a");
  EXPECT_TRUE(third->is_over()) << "a loaded model is had at once";
  EXPECT_EQ(table_->memory_taken(), 60U);
}

TEST_F(Models, ForTheStartAreLoadedAtTheStart) {
  std::vector<ModelEntry> entries;
  entries.push_back(entry("a", 1));
  entries.back().is_loaded_at_start = true;
  make(std::move(entries));
  EXPECT_FALSE(table_->is_started());
  table_->start();
  EXPECT_TRUE(until([&] { return table_->is_started(); }));
  EXPECT_EQ(table_->failure(), nullptr);
}

TEST_F(Models, OneForTheStartThatCannotBeLoadedIsAFailure) {
  std::vector<ModelEntry> entries;
  entries.push_back(entry("a", 1));
  entries.back().is_loaded_at_start = true;
  models_[0].load_fails = true;
  make(std::move(entries));
  table_->start();
  EXPECT_TRUE(until([&] { return table_->failure() != nullptr; }));
  EXPECT_EQ(table_->failure()->message, "a wheel is missing");
  EXPECT_FALSE(table_->has_failed_engine());
}

TEST_F(Models, TheOneThatWasUsedLongestAgoGoesWhereRoomIsWanted) {
  options_.models.memory_bytes = 100;
  std::vector<ModelEntry> entries;
  for (const char* name : {"a", "b", "c"}) entries.push_back(entry(name, 40));
  make(std::move(entries));
  load("a");
  load("b");
  load("a");
  now_ = std::max(now_, ModelTable::Clock::now()) + 1s;
  load("c");
  EXPECT_EQ(slot("a").state(), State::kServing);
  EXPECT_EQ(slot("b").state(), State::kUnloaded);
  EXPECT_EQ(slot("c").state(), State::kServing);
  EXPECT_EQ(table_->memory_taken(), 80U);
}

TEST_F(Models, OneThatNobodyUsesStaysForAsLongAsItTookToLoad) {
  make_two();
  models_[0].load_is_held = true;
  const auto waiting = wait("a");
  std::this_thread::sleep_for(50ms);
  models_[0].load_is_held = false;
  ASSERT_TRUE(until([&] { return waiting->is_over(); }));
  EXPECT_TRUE(waiting->take());
  const auto other = wait("b");
  now_ = slot("a").times().last_use + slot("a").times().of_load - 1ms;
  table_->advance(now_);
  EXPECT_EQ(slot("a").state(), State::kServing);
  table_->advance(now_ += 2ms);
  EXPECT_EQ(slot("a").state(), State::kUnloading);
}

TEST_F(Models, OneInUseKeepsItsTurnThenTakesNothingNewAndGoes) {
  make_two();
  auto used = std::make_unique<ModelLease>(load("a"));
  const auto waiting = wait("b");
  now_ = std::max(now_, slot("a").times().loaded) + options_.models.turn - 1ms;
  table_->advance(now_);
  EXPECT_EQ(slot("a").state(), State::kServing);
  EXPECT_TRUE(wait("a")->is_over()) << "it takes requests until its turn is over";
  now_ += 2ms;
  table_->advance(now_);
  EXPECT_EQ(slot("a").state(), State::kClosing);
  EXPECT_NE(slot("a").engine(), nullptr) << "what runs goes on";
  const auto late = wait("a");
  EXPECT_FALSE(late->is_over());
  table_->advance(now_);
  EXPECT_EQ(slot("b").state(), State::kUnloaded) << "there is no room yet";
  used.reset();
  ASSERT_TRUE(until([&] { return waiting->is_over(); }));
  ASSERT_TRUE(waiting->take());
  EXPECT_EQ(slot("b").state(), State::kServing);
  EXPECT_FALSE(late->is_over());
  ASSERT_TRUE(until([&] { return late->is_over(); })) << "and then it comes back";
  EXPECT_TRUE(late->take());
  EXPECT_EQ(models_[0].num_loads, 2);
}

TEST_F(Models, SteadyRequestsForOneDoNotStarveAnother) {
  make_two();
  auto used = std::make_unique<ModelLease>(load("a"));
  const auto waiting = wait("b");
  for (int i = 0; i < 100 && !waiting->is_over(); ++i) {  // there is always one more
    auto next = wait("a");
    if (next->is_over()) {
      *used = std::move(*next->take());
    } else {
      used = std::make_unique<ModelLease>();
    }
    now_ += options_.models.turn / 10;
    ASSERT_TRUE(until([&] { return slot("a").state() != State::kUnloading && slot("b").state() != State::kLoading; }));
  }
  EXPECT_TRUE(waiting->is_over());
}

TEST_F(Models, OneThatWasToGoStaysIfWhoeverWantedItsRoomLeaves) {
  make_two();
  const ModelLease used = load("a");
  auto waiting = wait("b");
  now_ = std::max(now_, slot("a").times().loaded) + options_.models.turn;
  table_->advance(now_);
  EXPECT_EQ(slot("a").state(), State::kClosing);
  waiting.reset();
  table_->advance(now_);
  EXPECT_EQ(slot("a").state(), State::kServing);
}

TEST_F(Models, OneThatIsLargerThanAllThatThereIsIsRefusedWithTheNumbers) {
  options_.models.memory_bytes = 100;
  std::vector<ModelEntry> entries;
  entries.push_back(entry("a", 200));
  make(std::move(entries));
  const auto lease = wait("a")->take();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, "model_too_large");
  EXPECT_THAT(lease.error().message, HasSubstr("takes 200 bytes with its KV memory, models may take 100 together"));
}

TEST_F(Models, ALoadThatFailsIsToldToAllWhoWaitAndIsTriedAgainLater) {
  make_two();
  models_[0].load_fails = true;
  const auto first = wait("a"), second = wait("a");
  ASSERT_TRUE(until([&] { return first->is_over() && second->is_over(); }));
  const auto lease = first->take();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().status, 503);
  EXPECT_EQ(lease.error().message, "the model 'a' cannot be loaded: a wheel is missing");
  EXPECT_FALSE(second->take());
  EXPECT_FALSE(wait("a")->take()) << "at once, and not for each request anew";
  EXPECT_EQ(models_[0].num_loads, 1);
  models_[0].load_fails = false;
  now_ += 10s;
  load("a");
  EXPECT_EQ(table_->failure(), nullptr);
}

TEST_F(Models, ALoadThatOthersWaitForIsStoppedAfterItsTimeAndTheyGetTheirs) {
  make_two();
  models_[0].load_is_held = true;
  const auto endless = wait("a");
  table_->advance(now_ += 400s);
  const auto other = wait("b");
  now_ += options_.models.max_wait / 2 - 1ms;
  table_->advance(now_);
  EXPECT_EQ(slot("a").state(), State::kLoading);
  table_->advance(now_ += 1ms);
  EXPECT_EQ(slot("a").state(), State::kUnloading);
  ASSERT_TRUE(until([&] { return other->is_over(); }));
  EXPECT_TRUE(other->take());
  EXPECT_EQ(models_[0].num_stops, 1);
  EXPECT_EQ(table_->failure(), nullptr);
}

TEST_F(Models, WhoWaitsForALoadThatIsStoppedIsToldAndItIsTriedAgainAfterAsLong) {
  make_two();
  models_[0].load_is_held = true;
  const auto endless = wait("a");
  const auto other = wait("b");
  table_->advance(now_ += options_.models.max_wait / 2);
  const auto stopped = now_;
  ASSERT_TRUE(until([&] { return endless->is_over(); }));
  const auto lease = endless->take();
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, "model_not_loaded");
  EXPECT_EQ(lease.error().message,
            "the model 'a' cannot be loaded: it was not there after 300 s, and others are waited for");
  ASSERT_TRUE(until([&] { return other->is_over(); }));
  EXPECT_TRUE(other->take());
  models_[0].load_is_held = false;
  now_ = stopped + options_.models.max_wait / 2 - 1s;
  EXPECT_FALSE(wait("a")->take());
  EXPECT_EQ(models_[0].num_loads, 1);
  now_ += 2s;
  load("a");
  EXPECT_EQ(models_[0].num_loads, 2);
}

TEST_F(Models, ALoadThatDoesNotEndWhenItIsStoppedHoldsUpNobodyButForItsMemory) {
  options_.models.memory_bytes = 200;
  std::vector<ModelEntry> entries;
  for (const char* name : {"a", "b"}) entries.push_back(entry(name, 60));
  make(std::move(entries));
  models_[0].load_is_held = true;
  models_[0].load_heeds_stops = false;
  const auto endless = wait("a");
  const auto other = wait("b");
  table_->advance(now_ += options_.models.max_wait / 2);
  ASSERT_TRUE(until([&] { return other->is_over(); }));
  EXPECT_TRUE(other->take());
  EXPECT_EQ(slot("a").state(), State::kUnloading);
  EXPECT_EQ(table_->memory_taken(), 120U);
  models_[0].load_is_held = false;
  EXPECT_TRUE(until([&] { return slot("a").state() == State::kUnloaded; }));
  EXPECT_EQ(table_->memory_taken(), 60U);
}

TEST_F(Models, ALoadThatNobodyElseWaitsForGoesOn) {
  make_two();
  models_[0].load_is_held = true;
  auto waiting = wait("a");
  waiting.reset();
  table_->advance(now_ += 10 * options_.models.max_wait);
  EXPECT_EQ(slot("a").state(), State::kLoading);
  models_[0].load_is_held = false;
  EXPECT_TRUE(until([&] { return slot("a").state() == State::kServing; }));
}

TEST_F(Models, OneForTheStartIsLoadedHoweverLongThatTakes) {
  std::vector<ModelEntry> entries;
  for (const char* name : {"a", "b"}) entries.push_back(entry(name, 60));
  entries.front().is_loaded_at_start = true;
  make(std::move(entries));
  models_[0].load_is_held = true;
  table_->start();
  now_ = ModelTable::Clock::now();
  const auto other = wait("b");
  table_->advance(now_ += options_.models.max_wait);
  EXPECT_EQ(slot("a").state(), State::kLoading);
  models_[0].load_is_held = false;
  EXPECT_TRUE(until([&] { return slot("a").state() == State::kServing; }));
}

TEST_F(Models, WithoutRequestsGoAfterTheirTimeAndNotWithOne) {
  options_.models.idle_unload = 60s;
  make_two();
  {
    const ModelLease used = load("a");
    now_ = ModelTable::Clock::now() + 61s;
    table_->advance(now_);
    EXPECT_EQ(slot("a").state(), State::kServing);
  }
  now_ = slot("a").times().last_use + 61s;
  EXPECT_TRUE(until([&] { return slot("a").state() == State::kUnloaded; }));
  EXPECT_EQ(table_->memory_taken(), 0U);
}

TEST_F(Models, StayAsLongAsAClientWantsBehindItsRequest) {
  options_.models.idle_unload = 60s;
  options_.models.clients_unload = true;
  make_two();
  {
    ModelLease used = load("a");
    EXPECT_EQ(table_->expiry(slot("a"), now_), now_ + 60s);
    used.set_keep_alive(10s);
    EXPECT_EQ(table_->expiry(slot("a"), now_), now_ + 10s);
    used.set_keep_alive(30s);
    EXPECT_EQ(table_->expiry(slot("a"), now_), now_ + 30s) << "what was said last counts, and somebody uses it";
  }
  const ModelTable::Clock::time_point left = slot("a").times().last_use;
  EXPECT_EQ(table_->expiry(slot("a"), now_), left + 30s);
  table_->advance(now_ = left + 29s);
  EXPECT_EQ(slot("a").state(), State::kServing);
  now_ = left + 30s;
  EXPECT_TRUE(until([&] { return slot("a").state() == State::kUnloaded; }));
  const ModelLease again = load("a");
  EXPECT_EQ(table_->expiry(slot("a"), now_), now_ + 60s) << "it was loaded anew";
}

TEST_F(Models, StayForNoClientLongerThanTheOperatorLetsAnyBeIdle) {
  options_.models.idle_unload = 60s;
  options_.models.clients_unload = true;
  make_two();
  for (const std::chrono::milliseconds wanted : {kKeptForever, std::chrono::milliseconds(300s)}) {
    load("a").set_keep_alive(wanted);
    EXPECT_EQ(table_->expiry(slot("a"), now_), slot("a").times().last_use + 60s);
  }
  now_ = slot("a").times().last_use + 60s;
  EXPECT_TRUE(until([&] { return slot("a").state() == State::kUnloaded; }));
}

TEST_F(Models, StayForEverWhereAClientWantsThatAndTheOperatorSetsNoTime) {
  options_.models.clients_unload = true;
  make_two();
  ModelLease used = load("a");
  used.set_keep_alive(10s);
  EXPECT_EQ(table_->expiry(slot("a"), now_), now_ + 10s);
  used.set_keep_alive(kKeptForever);
  EXPECT_EQ(table_->expiry(slot("a"), now_), std::nullopt);
}

TEST_F(Models, WhatAClientWantsIsNothingToAServerThatKeepsItsModel) {
  make_two();
  ModelLease used = load("a");
  used.set_keep_alive(0s);
  EXPECT_EQ(table_->expiry(slot("a"), now_), std::nullopt);
  const auto unloaded = table_->unload(slot("a"), "somebody", now_);
  ASSERT_FALSE(unloaded);
  EXPECT_EQ(unloaded.error().status, 400);
  EXPECT_THAT(unloaded.error().message, HasSubstr("keeps its model"));
}

TEST_F(Models, AreUnloadedWhenNobodyUsesThem) {
  options_.models.clients_unload = true;
  make_two();
  std::optional<ModelLease> used = load("a");
  now_ = ModelTable::Clock::now();
  ASSERT_TRUE(table_->unload(slot("a"), "somebody", now_));
  EXPECT_EQ(slot("a").state(), State::kServing);
  EXPECT_TRUE(wait("a")->take()) << "who asks before it is gone gets it";
  used.reset();
  now_ = ModelTable::Clock::now();
  ASSERT_TRUE(table_->unload(slot("a"), "somebody", now_));
  EXPECT_NE(slot("a").state(), State::kServing) << "at once";
  EXPECT_TRUE(until([&] { return slot("a").state() == State::kUnloaded; }));
}

TEST_F(Models, AClientLetsGoOfItsOwnUseAlone) {
  options_.models.clients_unload = true;
  options_.models.idle_unload = 60s;
  make_two();
  load("a");
  ASSERT_TRUE(wait("a", "another")->take());
  now_ = slot("a").times().last_use;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(table_->unload(slot("a"), "somebody", now_).value()) << "another may want it";
    wait("a", "somebody")->take()->set_keep_alive(0s);
    table_->advance(now_);
    EXPECT_EQ(slot("a").state(), State::kServing);
  }
  EXPECT_EQ(table_->expiry(slot("a"), now_), now_ + 60s);
  {
    const auto lease = wait("a", "another")->take();
    EXPECT_FALSE(table_->unload(slot("a"), "somebody", now_ += 70s).value()) << "another uses it";
  }
  now_ = slot("a").times().last_use;
  EXPECT_TRUE(table_->unload(slot("a"), "another", now_).value());
  EXPECT_EQ(slot("a").state(), State::kUnloading) << "nobody wants it";
  EXPECT_EQ(models_[0].num_loads, 1);
}

TEST_F(Models, OneThatNobodyHasUsedIsUnloadedForWhoeverAsks) {
  options_.models.clients_unload = true;
  std::vector<ModelEntry> entries;
  entries.push_back(entry("a", 60));
  entries.back().is_loaded_at_start = true;
  make(std::move(entries));
  table_->start();
  ASSERT_TRUE(until([&] { return table_->is_started(); }));
  EXPECT_EQ(table_->expiry(slot("a"), now_), std::nullopt);
  EXPECT_TRUE(table_->unload(slot("a"), "somebody", now_).value());
  EXPECT_EQ(slot("a").state(), State::kUnloading);
}

TEST_F(Models, WhatOneClientSaysIsAboutAllWhereThatIsAllowed) {
  options_.models.clients_unload = options_.models.clients_are_one = true;
  make_two();
  load("a");
  ASSERT_TRUE(wait("a", "another")->take());
  EXPECT_TRUE(table_->unload(slot("a"), "somebody", ModelTable::Clock::now()).value());
  EXPECT_EQ(slot("a").state(), State::kUnloading);
}

TEST(ModelUses, KeepAModelForAsLongAsAnyClientWantsIt) {
  ModelUses uses;
  const ModelUses::Clock::time_point now = ModelUses::Clock::now();
  const std::string one = "one", two = "two";
  ModelUses::end(uses.begin(one, now), now);
  ModelUses::Use& second = uses.begin(two, now);
  second.keep_alive = 10s;
  EXPECT_EQ(uses.wanted_until(now, 12s), now + 12s);
  EXPECT_EQ(uses.wanted_until(now, 5s), now + 5s) << "no client may say more";
  EXPECT_EQ(uses.wanted_until(now + 20s, 12s), now + 30s) << "a request runs";
  EXPECT_EQ(uses.wanted_until(now + 20s, 12s, &two), now + 12s);
  ModelUses::end(second, now + 20s);
  EXPECT_EQ(uses.wanted_until(now + 99s, 12s), now + 30s);
  EXPECT_EQ(uses.wanted_until(now, kKeptForever, &one), now + 30s);
  EXPECT_EQ(uses.wanted_until(now, kKeptForever, &two), ModelUses::Clock::time_point::max());
}

TEST(ModelUses, OfMoreClientsThanAreKnownNoneLosesTheModel) {
  const ModelUses::Clock::time_point now = ModelUses::Clock::now();
  ModelUses uses;
  ModelUses::Use& runs = uses.begin("runs", now - 1h);
  uses.begin("talks", now).keep_alive = 30min;
  for (int i = 0; i < 10'000; ++i) {
    ModelUses::Use& use = uses.begin(fmt::format("client {}", i), now);
    if (i % 2 == 0) use.keep_alive = 0s;
    ModelUses::end(use, now - 1h + std::chrono::milliseconds(100 * i));
  }
  for (int i = 0; i < 10'000; ++i) uses.release(fmt::format("client {}", i));
  ModelUses::end(runs, now);
  uses.release("runs");
  uses.release("talks");
  EXPECT_GT(uses.wanted_until(now, 2h), now + 1h) << "those that are no longer known said nothing";
}

TEST_F(Models, AreLoadedForNobodyInParticular) {
  options_.models.clients_unload = true;
  make_two();
  models_[0].load_is_held = true;
  ASSERT_TRUE(table_->preload(slot("a"), "somebody", now_));
  EXPECT_EQ(slot("a").state(), State::kLoading);
  const auto twice = table_->preload(slot("a"), "somebody", now_);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("the model 'a' is already running"));
  models_[0].load_is_held = false;
  ASSERT_TRUE(until([&] { return slot("a").state() == State::kServing; }));
  EXPECT_EQ(slot("a").num_leases(), 0);
  EXPECT_FALSE(table_->preload(slot("a"), "somebody", now_));
  // Another one, where the first must go for it.
  now_ += 1s;
  ASSERT_TRUE(table_->preload(slot("b"), "somebody", now_));
  ASSERT_TRUE(until([&] { return slot("b").state() == State::kServing; }));
  EXPECT_EQ(slot("a").state(), State::kUnloaded);
}

TEST_F(Models, OneThatCannotBeLoadedForNobodySaysWhy) {
  options_.models.memory_bytes = 100;
  std::vector<ModelEntry> entries;
  entries.push_back(entry("a", 60));
  entries.push_back(entry("large", 200));
  make(std::move(entries));
  const auto too_large = table_->preload(slot("large"), "somebody", now_);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, "model_too_large");
  models_[0].load_fails = true;
  ASSERT_TRUE(table_->preload(slot("a"), "somebody", now_));
  ASSERT_TRUE(until([&] { return slot("a").load_error().has_value(); }));
  EXPECT_EQ(table_->preload(slot("a"), "somebody", now_).error().code, "model_not_loaded");
}

TEST_F(Models, OnlySoManyRequestsWaitAndOneClientLeavesRoomForOthers) {
  options_.engine.max_queued = 10;
  make_two();
  models_[0].load_is_held = true;
  std::vector<std::unique_ptr<ModelTable::LoadWait>> waits;
  for (int i = 0; i < 8; ++i) waits.push_back(wait("a"));
  EXPECT_FALSE(waits.back()->is_over());
  const auto refused = wait("a")->take();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 429);
  waits.push_back(wait("a", "another"));
  EXPECT_FALSE(waits.back()->is_over());
  models_[0].load_is_held = false;
  EXPECT_TRUE(until([&] { return waits.back()->is_over(); }));
}

TEST_F(Models, AWaitThatIsNotFulfilledInTimeEnds) {
  make_two();
  models_[0].load_is_held = true;
  const auto waiting = wait("a");
  now_ += options_.models.max_wait + 1ms;
  table_->advance(now_);
  ASSERT_TRUE(waiting->is_over());
  EXPECT_EQ(waiting->take().error().code, "model_busy");
  models_[0].load_is_held = false;
}

TEST_F(Models, OtherEntriesChangeWhatIsThereAndNotWhatRuns) {
  make_two();
  auto used = std::make_unique<ModelLease>(load("a"));
  EXPECT_EQ(used->model().sampling_defaults.temperature, SamplingParams{}.temperature);
  std::vector<ModelEntry> entries;
  entries.push_back(entry("a", 60));
  entries.back().set_sampling = [](SamplingParams& params) { params.temperature = 0.25F; };
  entries.push_back(entry("c", 10));
  table_->replace(std::move(entries), now_);
  EXPECT_EQ(table_->find("b"), nullptr);
  EXPECT_THAT(table_->not_found("b").message, HasSubstr("found 'b', expected one of 'a', 'c'"));
  EXPECT_EQ(used->model().sampling_defaults.temperature, SamplingParams{}.temperature);
  EXPECT_EQ(wait("a")->take()->model().sampling_defaults.temperature, 0.25F);
  EXPECT_EQ(models_[0].num_loads, 1);

  entries.clear();
  entries.push_back(entry("a", 60));
  entries.back().version = "other options";
  table_->replace(std::move(entries), now_);
  EXPECT_EQ(slot("a").state(), State::kClosing);
  EXPECT_NE(slot("a").engine(), nullptr);
  used.reset();
  load("a");
  EXPECT_EQ(models_[0].num_loads, 1);
  EXPECT_EQ(models_.back().num_loads, 1) << "it is loaded as it is offered now";
}

TEST_F(Models, OneThatIsOfferedNoMoreGoesWhenItsRequestsEnd) {
  make_two();
  auto used = std::make_unique<ModelLease>(load("a"));
  std::vector<ModelEntry> entries;
  entries.push_back(entry("b", 60));
  table_->replace(std::move(entries), now_);
  EXPECT_EQ(table_->slots().size(), 2U);
  EXPECT_EQ(table_->find("a"), nullptr);
  EXPECT_EQ(table_->find("")->id(), "b");
  used.reset();
  EXPECT_TRUE(until([&] { return table_->slots().size() == 1; }));
  EXPECT_EQ(table_->memory_taken(), 0U);
}

TEST_F(Models, DrainingRefusesWhoWaitsAndLoadsNothing) {
  make_two();
  models_[0].load_is_held = true;
  const auto loading = wait("a"), waiting = wait("b");
  table_->drain();
  ASSERT_TRUE(loading->is_over() && waiting->is_over());
  EXPECT_EQ(loading->take().error().code, "shutting_down");
  EXPECT_FALSE(wait("b")->take());
  EXPECT_TRUE(until([&] { return slot("a").state() == State::kUnloaded; }));
  EXPECT_EQ(models_[0].num_stops, 1) << "nobody has a use for it";
  EXPECT_EQ(models_[1].num_loads, 0);
  EXPECT_EQ(table_->failure(), nullptr) << "a drain is none";
}

}  // namespace
}  // namespace octavo::server
