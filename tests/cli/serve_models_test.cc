// The models that a server is given by the command line.
#include "cli/serve/serve_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/fake_engine.h"
#include "cli/options/command_line.h"
#include "cli/options/command_parser.h"
#include "cli/serve/serve_options.h"
#include "support/temp_file.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace octavo::cli {
namespace {

TEST(ServeModels, AModelThatIsLoadedAgainHasTheMemoryOfTheFirstTime) {
  test::CliRun cli;
  Context context = cli.context();
  const server::ModelEntry entry = one_model({.named = {"m.gguf"}}, {}, context);
  cli.engine.info.kv_memory_bytes = 1000;
  ASSERT_TRUE(entry.load({}));
  EXPECT_EQ(cli.engine.options.kv_memory_bytes, 0U) << "half of what is free";
  cli.engine.info.kv_memory_bytes = 700;  // if it were asked for again
  const server::LoadEngine copy = entry.load;
  ASSERT_TRUE(copy({}));
  EXPECT_EQ(cli.engine.options.kv_memory_bytes, 1000U);
}

TEST(ServeModels, AStarAmongItsNamesIsEveryNameAndNoneOfItsOwn) {
  test::CliRun cli;
  Context context = cli.context();
  const server::ModelEntry any = one_model({.names = {"first", "*"}}, {}, context);
  EXPECT_EQ(any.names, std::vector<std::string>{"first"});
  EXPECT_TRUE(any.takes_any_name);
  EXPECT_FALSE(one_model({.names = {"first"}}, {}, context).takes_any_name);
}

TEST(ServeModels, OneMaySeeWhereAnEncoderIsNamedOrLiesBesideIt) {
  const test::TempFolder folder;
  const auto write = [&](const std::string& name) {
    std::ofstream(folder.path() / name) << "GGUF";
    return (folder.path() / name).string();
  };
  std::filesystem::create_directory(folder.path() / "inner");
  const std::string model = write("m.gguf"), other = write("inner/n.gguf");
  test::CliRun cli;
  Context context = cli.context();
  const auto sees = [&](const ModelsOptions& options, const EngineOptions& engine = {}) {
    return may_see(options, engine, context).value();
  };
  EXPECT_FALSE(sees({.named = {model}}));
  EXPECT_TRUE(sees({.named = {model}}, {.mmproj_path = "eyes.gguf"}));
  write("inner/MMPROJ-F16.gguf");
  EXPECT_FALSE(sees({.named = {model, "/nowhere/a.gguf"}}));
  EXPECT_FALSE(sees({}));
  EXPECT_TRUE(sees({.named = {model, other}}));
  EXPECT_FALSE(sees({.named = {other}}, {.finds_mmproj = false}));
  EXPECT_TRUE(sees({.folders = {(folder.path() / "inner").string()}}));
  const test::TempFile sections("[model.a]\nmodel = \"" + model + "\"\nmmproj = \"eyes.gguf\"\n");
  EXPECT_TRUE(sees({.config_file = sections.string()}));
  EXPECT_FALSE(may_see({.config_file = "/nowhere/octavo.conf"}, {}, context));
}

TEST(ServeOptions, PicturesHaveTheirBounds) {
  test::CliRun cli;
  Context context = cli.context();
  const auto parsed = [&](std::vector<std::string> args) {
    Program program;
    ServeOptions options;
    add_serve_options(program.add_command("serve", ""), options, context);
    args.insert(args.begin(), "serve");
    const auto invocation = parse_arguments(program, args);
    EXPECT_TRUE(invocation) << invocation.error().message;
    return std::pair(options.server.requests.picture_bounds, options.has_body_size);
  };
  const auto [usual, has_usual_size] = parsed({});
  EXPECT_EQ(usual.bytes, std::uint64_t{20} << 20);
  EXPECT_FALSE(has_usual_size);
  const auto [bounds, has_size] = parsed(
      {"--mmproj", "eyes.gguf", "--max-picture-size", "1MiB", "--max-picture-pixels", "1000", "--max-pictures", "3"});
  EXPECT_EQ(bounds.bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(bounds.pixels, 1000U);
  EXPECT_EQ(bounds.pictures, 3);
  EXPECT_FALSE(has_size);
  EXPECT_TRUE(parsed({"--max-body-size", "1MiB"}).second);
}

/// A folder of its own to work in, so that values that are taken as paths leave nothing behind.
class WorkingFolder {
 public:
  WorkingFolder() { std::filesystem::current_path(folder_.path()); }
  ~WorkingFolder() { std::filesystem::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
  const test::TempFolder folder_;
};

/// What `octavo serve` has against a file of options with this line, which stands in a section or above all; empty:
/// nothing, and it looked for the models that are named.
std::string complaint(const std::string& section, const std::string& name, const std::string& value) {
  const test::TempFile file(section + "\n" + name + " = \"" + value + "\"\n");
  test::CliRun cli;
  cli.run({"serve", "-m", "/nowhere/a.gguf", "-m", "/nowhere/b.gguf", "--config", file.string()});
  std::string text = cli.err.str().substr(0, cli.err.str().find("; octavo serve --help"));
  while (text.ends_with('\n')) text.pop_back();
  for (const std::string& before : {"model.x." + name + ": ", file.string() + ": " + name + ": "})
    if (const std::size_t at = text.find(before); at != std::string::npos) return text.substr(at + before.size());
  EXPECT_THAT(text, testing::HasSubstr("/nowhere/a.gguf"));
  return "";
}

TEST(ModelSections, HaveTheOptionsOfTheCommandLineThatAreAboutOneModelWithTheirBounds) {
  const WorkingFolder folder;
  test::CliRun cli;
  Context context = cli.context();
  Program program;
  add_serve_command(program, context);
  std::set<std::string> own, others;
  for (const Option& option : program.commands().front().options()) {
    for (std::string name : option.names()) {
      if (!name.starts_with("--") || name == "--model") continue;  // a section says itself which model it is about
      name = name.substr(2);
      if (complaint("[model.x]", name, "no such value").starts_with("there is no such option")) {
        others.insert(name);
        continue;
      }
      own.insert(name);
      for (const char* value : {"no such value", "-7", "1", "q8_0"})
        EXPECT_EQ(complaint("[model.x]", name, value), complaint("", name, value)) << name << " = " << value;
    }
  }
  for (const char* name : {"kv-memory", "kv-type", "max-context", "ctx-size", "quantize", "chat-template",
                           "chat-template-file", "generation-config", "tokenizer", "temp", "temperature", "samplers"})
    EXPECT_TRUE(own.contains(name)) << name;
  for (const char* name : {"port", "threads", "seed", "config", "models-dir"})
    EXPECT_TRUE(others.contains(name)) << name;
  EXPECT_EQ(complaint("[model.x]", "port", "1"),
            "there is no such option of one model: it stands above all sections, for the whole server");
  EXPECT_EQ(complaint("[model.x]", "ctx-siz", "1"), "there is no such option; did you mean ctx-size?");
}

TEST(ServeModels, AFolderThatIsALinkToItselfIsNone) {
  const test::TempFolder folder;
  const std::filesystem::path link = folder.path() / "link";
  std::filesystem::create_symlink(link, link);
  test::CliRun cli;
  Context context = cli.context();
  const auto found = find_models({.folders = {link.string()}}, {}, context);
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().message.find("found no folder"), std::string::npos);
}

struct SectionsOfATinyModel {
  explicit SectionsOfATinyModel(const std::string& lines)
      : file("[model.x]\nmodel = \"" + model.string() + "\"\n" + lines) {}

  Result<std::vector<server::ModelEntry>> entries(const EngineOptions& engine, const SamplingFlags& sampling) {
    Context context = cli.context();
    auto found = find_models({.config_file = file.string(), .sampling = sampling}, engine, context);
    if (found && found->front().load({})) loaded = cli.engine.options;
    return found;
  }

  test::TempFile model{test::TinyModel().bytes(), ".gguf"};
  test::TempFile file;
  test::CliRun cli;
  EngineOptions loaded = {};
};

TEST(ModelSections, GoBeforeTheCommandLineWhereTheySayIt) {
  SectionsOfATinyModel sections("ctx-size = 32\ntop-k = 3\n");
  SamplingFlags sampling;
  sampling.top_k = 9;
  sampling.top_p = 0.5F;
  const auto entries = sections.entries({.kv_memory_bytes = 1 << 20, .max_context = 64}, sampling);
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(sections.loaded.max_context, 32);
  EXPECT_EQ(sections.loaded.kv_memory_bytes, 1U << 20);
  SamplingParams params;
  entries->front().set_sampling(params);
  EXPECT_EQ(params.top_k, 3);
  EXPECT_EQ(params.top_p, 0.5F);
}

TEST(ModelSections, HaveAListInPlaceOfTheCommandLines) {
  SectionsOfATinyModel sections("dry-sequence-breaker = [\"a\", \"b\"]\n");
  SamplingFlags sampling;
  sampling.dry_breakers = {"z"};
  const auto entries = sections.entries({.kv_memory_bytes = 1 << 20}, sampling);
  ASSERT_TRUE(entries) << entries.error().message;
  SamplingParams params;
  entries->front().set_sampling(params);
  EXPECT_EQ(params.dry.breakers, (std::vector<std::string>{"a", "b"}));
}

TEST(ModelSections, HaveAnOptionOnceWhateverItsName) {
  SectionsOfATinyModel sections("ctx-size = 32\nmax-context = 64\n");
  const auto entries = sections.entries({}, {});
  ASSERT_FALSE(entries);
  EXPECT_THAT(entries.error().message, testing::HasSubstr("model.x.max-context: found it a second time"));
  const test::TempFile chat("{{ messages }}");
  SectionsOfATinyModel both("chat-template = \"chatml\"\nchat-template-file = \"" + chat.string() + "\"\n");
  const auto excluded = both.entries({}, {});
  ASSERT_FALSE(excluded);
  EXPECT_THAT(excluded.error().message,
              testing::HasSubstr("[model.x]: --chat-template-file and --chat-template exclude each other"));
}

server::ModelEntry entry_of(const test::TempFile& model, const EngineOptions& engine) {
  test::CliRun cli;
  Context context = cli.context();
  auto entries = find_models({.named = {model.string()}}, engine, context);
  if (!entries || entries->size() != 1) throw std::runtime_error("found no model");
  return std::move(entries->front());
}

TEST(ServeModels, TheMemoryOfAModelIsWithThatOfWhatDraftsForIt) {
  const test::TempFile plain(test::TinyModel{.arch = "qwen35"}.bytes(), ".gguf");
  const test::TempFile whole(test::TinyModel{.arch = "qwen35", .head = test::TinyModel::Head::kRandom}.bytes(),
                             ".gguf");
  const auto bytes_of = [](const test::TempFile& model, const EngineOptions& engine) {
    return entry_of(model, engine).memory_bytes;
  };
  const std::uint64_t without = bytes_of(plain, {.draft = DraftMode::kAuto});
  const std::uint64_t with = bytes_of(whole, {.draft = DraftMode::kAuto});
  EXPECT_GT(with, without);
  EXPECT_EQ(bytes_of(whole, {.draft = DraftMode::kMtp}), with);
  EXPECT_EQ(bytes_of(whole, {.draft = DraftMode::kSuffix}), without);
  EXPECT_EQ(bytes_of(plain, {.draft = DraftMode::kAuto, .draft_path = whole.path()}), with);
  EXPECT_EQ(bytes_of(plain, {.draft = DraftMode::kAuto, .draft_path = "org/not-here"}), without);

  const test::TempFile gemma(test::TinyModel{.arch = "gemma4", .layers = 3}.bytes(), ".gguf");
  const test::TempFile assistant(
      test::TinyModel{.arch = "gemma4-assistant", .layers = 3, .width = 32, .per_layer_width = 0, .model_width = 64}
          .bytes(),
      ".gguf");
  EXPECT_GT(bytes_of(gemma, {.draft = DraftMode::kAuto, .draft_path = assistant.path()}), bytes_of(gemma, {}));
  EXPECT_EQ(bytes_of(gemma, {.draft = DraftMode::kAuto, .draft_path = whole.path()}), bytes_of(gemma, {}))
      << "loading it is the error";
}

TEST(ServeModels, AnotherWayToDraftIsAnotherEngine) {
  const test::TempFile model(test::TinyModel().bytes(), ".gguf");
  std::set<std::string> versions;
  for (const EngineOptions& engine : {EngineOptions{}, EngineOptions{.draft = DraftMode::kNgram},
                                      EngineOptions{.max_drafts = 3}, EngineOptions{.draft_path = "org/draft"}})
    versions.insert(entry_of(model, engine).version);
  EXPECT_EQ(versions.size(), 4U);
}

// A file's name, and what it says of itself, are the words of whoever made it: a client must not be answered by it for
// another model's name, nor for one that stands for every name.
TEST(PulledModels, HaveTheNamesAloneByWhichClientsHadThemFetched) {
  const test::TempFile own(test::TinyModel().bytes(), ".gguf"), first(test::TinyModel{.seed = 1}.bytes(), ".gguf"),
      second(test::TinyModel{.seed = 2}.bytes(), ".gguf");
  test::CliRun cli;
  Context context = cli.context();
  const auto pulled = std::make_shared<PulledModels>();
  pulled->add("org/first", first.path());
  pulled->add("org/second", second.path());
  pulled->add("org/second:F32", second.path());
  pulled->add("org/own", own.path());
  const auto entries = find_models({.named = {own.string()}, .pulled = pulled}, {}, context);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_THAT(entries->at(0).names, testing::Contains("org/own")) << "the operator's, by all its names";
  EXPECT_GT(entries->at(0).names.size(), 2U);
  EXPECT_THAT(entries->at(1).names, testing::ElementsAre("org/first"));
  EXPECT_THAT(entries->at(2).names, testing::ElementsAre("org/second", "org/second:F32"));
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
