// The models that a server is given by the command line.
#include "cli/serve_models.h"

#include <gtest/gtest.h>

#include "cli/fake_engine.h"

namespace octavo::cli {
namespace {

TEST(ServeModels, AModelThatIsLoadedAgainHasTheMemoryOfTheFirstTime) {
  test::CliRun cli;
  Context context = cli.context();
  const server::ModelOffer offer = one_model({.named = {"m.gguf"}}, {}, context);
  cli.engine.info.kv_memory_bytes = 1000;
  ASSERT_TRUE(offer.load({}));
  EXPECT_EQ(cli.engine.options.kv_memory_bytes, 0U) << "half of what is free";
  cli.engine.info.kv_memory_bytes = 700;  // if it were asked for again
  const server::LoadEngine copy = offer.load;
  ASSERT_TRUE(copy({}));
  EXPECT_EQ(cli.engine.options.kv_memory_bytes, 1000U);
}

TEST(ServeModels, AStarAmongItsNamesIsEveryNameAndNoneOfItsOwn) {
  test::CliRun cli;
  Context context = cli.context();
  const server::ModelOffer any = one_model({.names = {"first", "*"}}, {}, context);
  EXPECT_EQ(any.names, std::vector<std::string>{"first"});
  EXPECT_TRUE(any.takes_any_name);
  EXPECT_FALSE(one_model({.names = {"first"}}, {}, context).takes_any_name);
}

TEST(PulledModels, AreNewOnceAndWhereTheyMoveTo) {
  PulledModels pulled;
  EXPECT_TRUE(pulled.add("org/a", "/cache/1/a.gguf"));
  EXPECT_FALSE(pulled.add("org/a", "/cache/1/a.gguf"));
  EXPECT_TRUE(pulled.add("org/a", "/cache/2/a.gguf"));
  ASSERT_EQ(pulled.list().size(), 1U);
  EXPECT_EQ(pulled.list().front().path, "/cache/2/a.gguf");
}

TEST(PulledModels, AreBounded) {
  PulledModels pulled;
  for (std::size_t i = 0; i < PulledModels::kMost; ++i) {
    EXPECT_TRUE(pulled.check_room(fmt::format("org/{}", i)));
    pulled.add(fmt::format("org/{}", i), "/cache/a.gguf");
  }
  EXPECT_FALSE(pulled.check_room("org/more"));
  EXPECT_TRUE(pulled.check_room("org/0")) << "it is there";
}

}  // namespace
}  // namespace octavo::cli
