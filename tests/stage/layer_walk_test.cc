// The order in which a stage takes rows through its layers.
#include "stage/layer_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace octavo::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Notes the steps of a walk.
class Notes final : private LayerWalk {
 public:
  explicit Notes(LayerRange layers) : layers_(layers) {}

  std::vector<std::string> steps(int last_with_state, StepRows& rows) {
    steps_.clear();
    walk(layers_, last_with_state, rows);
    return steps_;
  }

 private:
  void norm_input(int layer) override { note("norm", layer); }
  void find_spoiled() override { steps_.emplace_back("find"); }
  void write_state(int layer) override { note("write", layer); }
  void keep_logit_rows() override { steps_.emplace_back("keep"); }
  void run_layer(int layer, bool state_written) override { note(state_written ? "go on" : "run", layer); }
  void note(const std::string& step, int layer) { steps_.push_back(step + " " + std::to_string(layer)); }

  LayerRange layers_;
  std::vector<std::string> steps_;
};

/// One sequence of three tokens.
Batch batch_of(const std::vector<std::int32_t>& logit_rows) {
  Batch batch;
  batch.clear();
  batch.tokens = {1, 2, 3};
  batch.positions = {0, 1, 2};
  batch.seq_begin.push_back(3);
  batch.kv_len.push_back(3);
  batch.logit_rows = logit_rows;
  return batch;
}

TEST(LayerWalk, BehindTheLastLayerWithStateGoRowsWhoseLogitsAreWanted) {
  const Batch batch = batch_of({2});
  StepRows rows(3);
  rows.begin(batch);
  EXPECT_THAT(Notes({.first = 1, .end = 4}).steps(2, rows),
              ElementsAre("norm 1", "run 1", "find", "write 2", "keep", "norm 2", "go on 2", "run 3"));
  EXPECT_EQ(rows.count(), 1);
  // The next stage finds them so.
  EXPECT_THAT(Notes({.first = 4, .end = 5}).steps(2, rows), ElementsAre("norm 4", "run 4"));
}

TEST(LayerWalk, AllRowsGoOnWhereAllLogitsAreWanted) {
  const Batch batch = batch_of({0, 1, 2});
  StepRows rows(3);
  rows.begin(batch);
  EXPECT_THAT(Notes({.first = 0, .end = 2}).steps(1, rows), ElementsAre("norm 0", "run 0", "find", "run 1"));
  EXPECT_FALSE(rows.are_kept());
}

TEST(LayerWalk, NoRowsGoOnWhereNoLogitsAreWanted) {
  const Batch batch = batch_of({});
  StepRows rows(3);
  rows.begin(batch);
  EXPECT_THAT(Notes({.first = 0, .end = 3}).steps(1, rows), ElementsAre("norm 0", "run 0", "find", "write 1"));
  EXPECT_EQ(rows.count(), 0);
}

TEST(LayerWalk, AStageWithoutLayersDoesNothing) {
  const Batch batch = batch_of({2});
  StepRows rows(3);
  rows.begin(batch);
  EXPECT_THAT(Notes({.first = 2, .end = 2}).steps(5, rows), IsEmpty());
  EXPECT_EQ(rows.count(), 3);
}

}  // namespace
}  // namespace octavo::test
