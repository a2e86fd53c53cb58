// What finding models takes, counted by the allocations of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/fake_engine.h"
#include "cli/options/command_line.h"
#include "cli/serve/serve_models.h"
#include "replaced_new.h"
#include "support/temp_folder.h"

namespace octavo::cli {
namespace {

/// Allocations of finding the models of a folder in which so many files are none.
long allocations_of(int num_files) {
  const test::TempFolder folder;
  for (int i = 0; i < num_files; ++i) folder.write(fmt::format("{:05}.gguf", i), "");
  test::CliRun cli;
  Context context = cli.context();
  const long before = test::num_allocations;
  const auto found = find_models({.folders = {folder.path().string()}}, {}, context);
  EXPECT_FALSE(found.has_value() && !found->empty()) << "an empty file is no model";
  return test::num_allocations - before;
}

TEST(FindModels, TakesAsMuchForEachFileHoweverManyThereAre) {
  allocations_of(10);  // what is made once
  const long of_few = allocations_of(100);
  const long of_many = allocations_of(800);
  EXPECT_GT(of_few, 100);
  EXPECT_LT(of_many, 9 * of_few) << "eight times as many files";
}

}  // namespace
}  // namespace octavo::cli
