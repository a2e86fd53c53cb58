// Which steps are timed before the first request.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "engine/test_engine.h"

namespace octavo::test {
namespace {

TEST(Calibrate, AModelOfLongStepsHasTimeForOneOfFourRowsAndOneOfOne) {
  TestEngine engine({.runner = {.before_forward = [] { std::this_thread::sleep_for(std::chrono::milliseconds(130)); }},
                     .limits = {.step_ms = 50}});
  engine->calibrate();
  EXPECT_EQ(engine.runner().num_forwards(), 2);
  EXPECT_EQ(engine.runner().num_rows(), 4 + 1);
}

TEST(Calibrate, NoStepIsBegunOnceAStopIsAskedFor) {
  std::stop_source stop;
  TestEngine engine({.runner = {.before_forward = [&] { stop.request_stop(); }}, .limits = {.step_ms = 50}});
  engine->calibrate(stop.get_token());
  EXPECT_EQ(engine.runner().num_forwards(), 1);
}

TEST(Calibrate, NothingOfItStays) {
  TestEngine engine({.limits = {.step_ms = 50}});
  engine.runner().let_read_anything(true);
  engine->calibrate();
  EXPECT_GT(engine.runner().num_forwards(), 1);
  EXPECT_TRUE(engine->check_integrity());
  EXPECT_EQ(engine->stats().steps, 0);
}

TEST(Calibrate, AContextOfTwoTokensHasRoomForStepsOfOneRow) {
  TestEngine engine({.max_context = 2, .limits = {.step_ms = 50}});
  engine.runner().let_read_anything(true);
  engine->calibrate();
  EXPECT_GE(engine.runner().num_forwards(), 2);
  EXPECT_EQ(engine.runner().num_rows(), engine.runner().num_forwards());
}

}  // namespace
}  // namespace octavo::test
