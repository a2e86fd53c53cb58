#include "base/pool_width.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace octavo {
namespace {

/// A machine whose steps take so many times as long as foreseen at each width, and whose caller waits for this share of
/// them; each step is up to a tenth longer or shorter.
class Neighbourhood {
 public:
  using Of = std::function<double(int width)>;
  explicit Neighbourhood(int threads) : width_(threads), num_threads_(threads) {}

  void set(Of slowness, double waited) {
    slowness_ = std::move(slowness);
    waited_ = waited;
  }
  /// Steps of `foreseen_ms` each until this much time has passed. Gives the share of the time that `counts` is true of.
  double run(double ms, double foreseen_ms, const std::function<bool(int width)>& counts) {
    double passed = 0, counted = 0;
    while (passed < ms) {
      const int width = width_.width();
      const double took = foreseen_ms * slowness_(width) * noise_(random_);
      width_.observe({.ms = took, .foreseen_ms = foreseen_ms, .waited_ms = waited_ * took});
      passed += took;
      if (counts(width)) counted += took;
    }
    return counted / passed;
  }
  int width() const { return width_.width(); }
  int num_threads() const { return num_threads_; }

 private:
  PoolWidth width_;
  int num_threads_;
  Of slowness_ = [](int) { return 1.0; };
  double waited_ = 0.05;
  std::mt19937 random_{7};
  std::uniform_real_distribution<double> noise_{0.9, 1.1};
};

double is_shared_by(int threads, int width) { return 1.0 * threads / width; }

TEST(PoolWidth, AMachineThatNobodyElseUsesHasAllThreadsInEachStep) {
  for (const int threads : {1, 2, 8, 64}) {
    Neighbourhood machine(threads);
    machine.set([&](int width) { return is_shared_by(threads, width); }, 0.1);
    EXPECT_EQ(machine.run(20'000, 5, [&](int width) { return width == threads; }), 1) << threads;
  }
}

TEST(PoolWidth, WhereOneOfTwoCpusIsTakenOneThreadIsLeftUntilItComesBack) {
  Neighbourhood machine(2);
  machine.set([](int width) { return width == 2 ? 3.3 : 2.0; }, 0.3);
  const auto is_one = [](int width) { return width == 1; };
  machine.run(400, 5, is_one);
  EXPECT_GT(machine.run(20'000, 5, is_one), 0.9);
  machine.set([](int width) { return is_shared_by(2, width); }, 0.05);
  machine.run(2500, 5, is_one);
  EXPECT_EQ(machine.run(10'000, 5, is_one), 0);
}

TEST(PoolWidth, FollowsInLongStepsAsWell) {
  Neighbourhood machine(2);
  machine.set([](int width) { return width == 2 ? 3.3 : 2.0; }, 0.3);
  const auto is_one = [](int width) { return width == 1; };
  machine.run(2000, 150, is_one);
  EXPECT_EQ(machine.width(), 1);
  machine.set([](int width) { return is_shared_by(2, width); }, 0.05);
  machine.run(5000, 150, is_one);
  EXPECT_EQ(machine.width(), 2);
}

TEST(PoolWidth, AWidthThatDoesNotHelpIsTriedSeldom) {
  Neighbourhood machine(2);
  machine.set([](int width) { return width == 2 ? 1.6 : 2.0; }, 0.4);
  machine.run(10'000, 5, [](int) { return true; });
  EXPECT_LT(machine.run(60'000, 5, [](int width) { return width == 1; }), 0.02);
}

TEST(PoolWidth, AQuotaOfTwelveCpusGivesSixteenThreadsAsManyOrALittleFewer) {
  Neighbourhood machine(16);
  machine.set([](int width) { return width <= 12 ? is_shared_by(16, width) : 4.0; }, 0.5);
  machine.run(5000, 3, [](int) { return true; });
  EXPECT_GT(machine.run(60'000, 3, [](int width) { return width >= 10 && width <= 12; }), 0.85);
}

TEST(PoolWidth, StepsThatNobodyForesawChangeNothing) {
  PoolWidth width(4);
  for (int step = 0; step < 1000; ++step) width.observe({.ms = 50, .foreseen_ms = 0, .waited_ms = 40});
  EXPECT_EQ(width.width(), 4);
}

TEST(PoolWidth, ATrialIsToldAsSuch) {
  PoolWidth width(2);
  while (width.width() == 2) {
    EXPECT_FALSE(width.is_trial());
    width.observe({.ms = 20, .foreseen_ms = 5, .waited_ms = 10});
  }
  EXPECT_TRUE(width.is_trial());
  while (width.is_trial()) width.observe({.ms = 10, .foreseen_ms = 5});
  EXPECT_EQ(width.width(), 1);
}

}  // namespace
}  // namespace octavo
