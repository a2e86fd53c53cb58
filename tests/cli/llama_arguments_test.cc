// Command lines of llama.cpp's server: the table of arguments, and what it makes of those that other programs build.
#include "cli/llama/llama_arguments.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "cli/fake_engine.h"
#include "cli/llama/llama_translator.h"
#include "cli/options/named_templates.h"
#include "support/source_dir.h"

namespace octavo::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

/// The command that arguments are translated for.
struct Serve {
  explicit Serve(Dialect dialect) : context(cli.context()) { add_serve_command(program, context, dialect); }
  Command& command() { return program.commands().front(); }

  test::CliRun cli;
  Context context;
  Program program;
};

Result<LlamaTranslation> translation_of(const Words& args, std::map<std::string, std::string> environment = {},
                                        Dialect dialect = Dialect::kLlamaServer) {
  Serve serve(dialect);
  serve.cli.environment = std::move(environment);
  OCTAVO_TRY(const LlamaCommandLine line,
             read_llama_arguments(args, serve.command(), dialect, serve.context.environment));
  return translate_llama_arguments(line);
}

Words args_of(const Words& args, std::map<std::string, std::string> environment = {},
              Dialect dialect = Dialect::kLlamaServer) {
  const auto translation = translation_of(args, std::move(environment), dialect);
  return translation ? translation->args : Words{"error: " + translation.error().message};
}

std::string error_of(const Words& args, Dialect dialect = Dialect::kLlamaServer) {
  const auto translation = translation_of(args, {}, dialect);
  return translation ? "none" : translation.error().message;
}

TEST(LlamaArguments, EveryRowHasNamesOfItsOwnAndAnOptionThatIsThere) {
  Serve serve(Dialect::kOctavo);
  std::set<std::string> names, variables;
  for (const std::string& name : llama_argument_names()) EXPECT_TRUE(names.insert(name).second) << name;
  for (const LlamaArgument& row : llama_arguments()) {
    EXPECT_NE(row.text, "") << row.names;
    EXPECT_TRUE(row.variable.empty() || variables.insert(std::string(row.variable)).second) << row.variable;
    EXPECT_EQ(find_llama_argument(row.first_name()), &row);
    if (row.fate != LlamaFate::kOption) continue;
    const Option* option = serve.command().find_option(row.text);
    ASSERT_NE(option, nullptr) << row.text;
    EXPECT_EQ(option->is_flag(), row.is_flag()) << row.text;
  }
}

TEST(LlamaArguments, ThePageAboutThemNamesEveryRow) {
  std::ifstream file(test::source_dir() + "/docs/llama_server.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const LlamaArgument& row : llama_arguments())
    EXPECT_THAT(page.str(), HasSubstr("`" + std::string(row.first_name()))) << row.names;
}

TEST(LlamaArguments, OllamasCommandLineIsTaken) {
  const auto made = translation_of({"--model",
                                    "/blobs/sha256-abc",
                                    "--port",
                                    "40123",
                                    "--host",
                                    "127.0.0.1",
                                    "--no-webui",
                                    "--offline",
                                    "-c",
                                    "16384",
                                    "-np",
                                    "4",
                                    "--log-verbosity",
                                    "4",
                                    "--no-log-prefix",
                                    "--no-log-timestamps",
                                    "--no-jinja",
                                    "--chat-template",
                                    "chatml",
                                    "--mmproj",
                                    "/blobs/sha256-abc",
                                    "--no-mmproj-offload",
                                    "--load-mode",
                                    "none",
                                    "--cache-type-k",
                                    "q8_0",
                                    "--cache-type-v",
                                    "q8_0",
                                    "--flash-attn",
                                    "auto",
                                    "-b",
                                    "256",
                                    "-ub",
                                    "256",
                                    "-ngl",
                                    "0",
                                    "-t",
                                    "6",
                                    "--split-mode",
                                    "none",
                                    "--main-gpu",
                                    "0",
                                    "--context-shift",
                                    "--keep",
                                    "5"},
                                   {{"LLAMA_MEDIA_MARKER", "<x>"}, {"LLAMA_ARG_FIT_TARGET", "2048"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->args,
              UnorderedElementsAre("--model=/blobs/sha256-abc", "--port=40123", "--host=127.0.0.1", "--no-ui=true",
                                   "--offline=true", "--max-sequences=4", "--max-context=4096", "--log-level=info",
                                   "--chat-template=" + std::string(*named_chat_template("chatml")), "--kv-type=q8_0",
                                   "--chunk=256", "--threads=6", "--gpu-layers=0"));
  EXPECT_THAT(made->notes,
              UnorderedElementsAre(StartsWith("--no-jinja has"), StartsWith("--mmproj /blobs/sha256-abc has no effect"),
                                   StartsWith("--split-mode none has"), StartsWith("--main-gpu 0 has"),
                                   StartsWith("--context-shift has"), StartsWith("--keep 5 has"),
                                   StartsWith("LLAMA_ARG_FIT_TARGET 2048 has")));
}

TEST(LlamaArguments, TheCommandLinesOfOtherProgramsAreTaken) {
  // llama-swap's examples
  EXPECT_THAT(args_of({"--host",
                       "127.0.0.1",
                       "--port",
                       "9503",
                       "--flash-attn",
                       "on",
                       "--metrics",
                       "--slots",
                       "--ctx-size",
                       "32000",
                       "--samplers",
                       "top_k;top_p;min_p;temperature;dry;typ_p;xtc",
                       "--temp",
                       "0.6",
                       "--repeat-penalty",
                       "1.1",
                       "--dry-multiplier",
                       "0.5",
                       "--min-p",
                       "0.01",
                       "--top-k",
                       "40",
                       "--top-p",
                       "0.95",
                       "-ngl",
                       "99",
                       "--model",
                       "/m.gguf",
                       "--model-draft",
                       "/d.gguf",
                       "-ngld",
                       "99",
                       "--draft-max",
                       "16",
                       "--draft-min",
                       "4",
                       "--draft-p-min",
                       "0.4",
                       "--device",
                       "CUDA0"}),
              IsSupersetOf({"--max-context=32000", "--temp=0.6", "--repeat-penalty=1.1", "--top-k=40", "--top-p=0.95",
                            "--samplers=top_k;top_p;min_p;temperature;dry;typ_p;xtc"}));
  EXPECT_THAT(args_of({"-hf", "bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M", "--port", "9999"}),
              UnorderedElementsAre("--model=bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M", "--port=9999"));
  // Lemonade
  EXPECT_THAT(args_of({"-m", "/m.gguf", "--ctx-size", "4096", "--port", "8001", "--jinja", "--metrics"}),
              UnorderedElementsAre("--model=/m.gguf", "--max-context=4096", "--port=8001"));
  // RamaLama
  EXPECT_THAT(args_of({"--host",
                       "::",
                       "--port",
                       "8080",
                       "--log-file",
                       "/l",
                       "--model",
                       "/mnt/models/m",
                       "--chat-template-file",
                       "/mnt/t",
                       "--no-warmup",
                       "--reasoning",
                       "off",
                       "--alias",
                       "library/m",
                       "--temp",
                       "0.8",
                       "--cache-reuse",
                       "256",
                       "-v",
                       "-ngl",
                       "all",
                       "--threads",
                       "4",
                       "--log-colors",
                       "on"}),
              UnorderedElementsAre("--host=::", "--port=8080", "--model=/mnt/models/m", "--chat-template-file=/mnt/t",
                                   "--reasoning-budget=0", "--served-model-name=library/m", "--temp=0.8",
                                   "--log-level=debug", "--threads=4", "--gpu-layers=all", "--device=auto"));
  // Jan
  EXPECT_THAT(args_of({"--no-webui",
                       "--jinja",
                       "-m",
                       "/m.gguf",
                       "-a",
                       "jan/m",
                       "--port",
                       "3981",
                       "-ngl",
                       "-1",
                       "--threads",
                       "2",
                       "--threads-batch",
                       "2",
                       "--ubatch-size",
                       "128",
                       "--flash-attn",
                       "auto",
                       "--cont-batching",
                       "--no-mmap",
                       "--mlock",
                       "--no-kv-offload",
                       "--parallel",
                       "1",
                       "-kvu",
                       "--ctx-size",
                       "8192",
                       "--n-predict",
                       "300",
                       "--defrag-thold",
                       "0.5",
                       "--fit",
                       "off"},
                      {{"LLAMA_API_KEY", "c2VjcmV0"}, {"LLAMA_ARG_TIMEOUT", "600"}}),
              UnorderedElementsAre("--no-ui=true", "--model=/m.gguf", "--served-model-name=jan/m", "--port=3981",
                                   "--threads=2", "--chunk=128", "--max-sequences=1", "--max-context=8192",
                                   "--api-key=c2VjcmV0", "--max-tokens=300", "--read-timeout=600",
                                   "--write-timeout=600", "--gpu-layers=all", "--device=auto"));
}

TEST(LlamaArguments, AContextIsSharedOutAmongParallelRequestsUnlessItIsUnified) {
  EXPECT_THAT(args_of({"-c", "8192"}), ElementsAre("--max-context=8192"));
  EXPECT_THAT(args_of({"-c", "8192", "-np", "-1"}), ElementsAre("--max-context=8192"));
  EXPECT_THAT(args_of({"-c", "8192", "-np", "3"}), ElementsAre("--max-sequences=3", "--max-context=2730"));
  EXPECT_THAT(args_of({"-c", "8192", "-np", "3", "--kv-unified"}),
              ElementsAre("--max-sequences=3", "--max-context=8192"));
  EXPECT_THAT(args_of({"-c", "8192", "-np", "3", "--kv-unified", "--no-kv-unified"}), Contains("--max-context=2730"));
  EXPECT_THAT(args_of({"-c", "0", "-np", "3"}), ElementsAre("--max-sequences=3"));
  EXPECT_THAT(args_of({"-np", "3"}), ElementsAre("--max-sequences=3"));
  EXPECT_THAT(args_of({"--kv-unified-per-slot", "1000", "-np", "3"}), Contains("--max-context=1000"));
  EXPECT_THAT(error_of({"-c", "2", "-np", "3"}), HasSubstr("-c 2: found fewer tokens than the 3 requests"));
}

TEST(LlamaArguments, DraftsComeFromTextOrTheModelsFileOrNotAtAll) {
  EXPECT_THAT(args_of({"--spec-type", "none"}), ElementsAre("--draft=off"));
  EXPECT_THAT(args_of({"--spec-type", "ngram-mod", "--draft-max", "48"}),
              ElementsAre("--draft=ngram", "--draft-max=16"));
  EXPECT_THAT(args_of({"--spec-default"}), ElementsAre("--draft=auto"));
  EXPECT_THAT(args_of({"--draft-n", "0"}), ElementsAre("--draft=off"));
  EXPECT_THAT(args_of({"--draft", "5"}), ElementsAre("--draft-max=5"));
  const auto made = translation_of({"--spec-type", "draft-simple"});
  EXPECT_THAT(made->args, ElementsAre("--draft=auto"));
  EXPECT_THAT(made->notes, ElementsAre(HasSubstr("not from another model")));
  EXPECT_THAT(args_of({"--spec-type", "draft-mtp", "-md", "/d.gguf"}), ElementsAre("--draft=/d.gguf"));
  const auto unread = translation_of({"-md", "/d.gguf"});
  EXPECT_THAT(unread->args, ElementsAre());
  EXPECT_THAT(unread->notes, ElementsAre(HasSubstr("it drafts with --spec-type draft-mtp")));
  EXPECT_THAT(translation_of({"--spec-type", "draft-mtp"})->notes, ElementsAre());
  EXPECT_THAT(args_of({"--spec-type", "draft-mtp"}), ElementsAre("--draft=mtp"));
  EXPECT_THAT(args_of({"--spec-type", "ngram-mod,ngram-map-k"}), ElementsAre("--draft=ngram"));
  EXPECT_THAT(args_of({"--spec-type", "none,draft-mtp,ngram-mod"}), ElementsAre("--draft=auto"));
  EXPECT_THAT(error_of({"--spec-type", "nope"}),
              AllOf(HasSubstr("found 'nope', expected none"), HasSubstr("draft-mtp")));
  EXPECT_THAT(translation_of({"--spec-draft-n-max", "99"})->notes,
              ElementsAre("--spec-draft-n-max 99 is taken as 16, the most here"));
  EXPECT_THAT(error_of({"--draft-max", "-1"}), HasSubstr("--draft-max"));
}

TEST(LlamaArguments, AChatTemplateIsANameOrAText) {
  EXPECT_THAT(args_of({"--chat-template", "{% for m in messages %}{{ m }}{% endfor %}"}),
              ElementsAre("--chat-template={% for m in messages %}{{ m }}{% endfor %}"));
  EXPECT_THAT(error_of({"--chat-template", "/etc/hostname"}),
              HasSubstr("--chat-template: found '/etc/hostname', expected a template in Jinja, or a name: chatml,"));
}

TEST(LlamaArguments, TypesOfKeysAndValuesAreTheFinerOfBoth) {
  EXPECT_THAT(args_of({"-ctk", "q8_0", "-ctv", "q8_0"}), ElementsAre("--kv-type=q8_0"));
  EXPECT_THAT(args_of({"-ctk", "q8_0", "-ctv", "bf16"}), ElementsAre("--kv-type=bf16"));
  EXPECT_THAT(args_of({"-ctk", "q8_0"}), ElementsAre("--kv-type=f16")) << "values are f16 where nobody says otherwise";
  EXPECT_THAT(args_of({"-ctv", "f32"}), ElementsAre("--kv-type=f32"));
  const auto coarse = translation_of({"-ctk", "q4_0", "-ctv", "q5_1"});
  EXPECT_THAT(coarse->args, ElementsAre("--kv-type=q8_0"));
  EXPECT_THAT(coarse->notes, ElementsAre("-ctk q4_0 is taken as q8_0, the coarsest type here",
                                         "-ctv q5_1 is taken as q8_0, the coarsest type here"));
  EXPECT_THAT(error_of({"-ctk", "f64"}), HasSubstr("-ctk: found 'f64', expected q8_0"));
}

TEST(LlamaArguments, AModelIsAFileAndOneOfTheHubHasARepository) {
  EXPECT_THAT(args_of({"-m", "a/b"}), ElementsAre("--model=./a/b")) << "never a repository of the hub";
  EXPECT_THAT(args_of({"-hf", "a/b:Q4_0", "-hff", "c.gguf"}), ElementsAre("--model=a/b:c.gguf"));
  EXPECT_THAT(error_of({"-hff", "c.gguf"}), HasSubstr("-hff needs -hf"));
  EXPECT_THAT(error_of({"-hf", "a/b", "-m", "c"}), HasSubstr("found -m and -hf, expected one model"));
  EXPECT_THAT(args_of({"-a", "one, two", "--alias", "three"}),
              ElementsAre("--served-model-name=one", "--served-model-name=two", "--served-model-name=three"));
}

TEST(LlamaArguments, NamesOfTemplatesAndTheSeedAreThoseOfRequestsThatGiveNone) {
  EXPECT_THAT(
      args_of({"--chat-template-kwargs", R"({"enable_thinking": false})", "--reasoning-effort", "high", "-s", "7"}),
      UnorderedElementsAre(R"(--chat-template-kwargs={"enable_thinking": false})", "--reasoning-effort=high",
                           "--seed=7"));
  EXPECT_THAT(args_of({"--chat-template-kwargs", "{}", "--reasoning-effort", "default"}), IsEmpty());
}

TEST(LlamaArguments, WhatWouldChangeAnswersIsRefusedWithTheReason) {
  EXPECT_THAT(error_of({"--lora", "a.gguf"}), AllOf(HasSubstr("--lora is refused"), HasSubstr("no adapters here")));
  EXPECT_THAT(error_of({"--rope-scaling", "yarn"}), HasSubstr("--rope-scaling is refused"));
  EXPECT_THAT(args_of({"-n", "-1", "--seed", "-1", "--reasoning-effort", "default"}), IsEmpty());
}

TEST(LlamaArguments, PicturesAreAskedForByTheSameNames) {
  EXPECT_THAT(args_of({"-m", "/a", "-mm", "/b", "--image-min-tokens", "9", "--image-max-tokens", "99"}),
              UnorderedElementsAre("--model=/a", "--mmproj=/b", "--image-min-tokens=9", "--image-max-tokens=99"));
  EXPECT_THAT(args_of({"--media-path", "/pictures"}), UnorderedElementsAre("--media-path=/pictures"));
  EXPECT_THAT(args_of({"-m", "/a", "--no-mmproj-auto"}), UnorderedElementsAre("--model=/a", "--no-mmproj=true"));
  EXPECT_THAT(args_of({"-m", "/a"}, {{"LLAMA_ARG_MMPROJ", "/b"}}), UnorderedElementsAre("--model=/a", "--mmproj=/b"));
  const std::string address = "https://huggingface.co/a/b/resolve/main/mmproj-F16.gguf";
  EXPECT_THAT(args_of({"-m", "/a", "-mmu", address}), UnorderedElementsAre("--model=/a", "--mmproj=" + address));
  EXPECT_THAT(args_of({"-m", "/a", "-mm", "/b", "--mmproj-url", address}),
              UnorderedElementsAre("--model=/a", "--mmproj=/b"))
      << "what is here goes first";
  EXPECT_THAT(args_of({"-m", "/a", "--mmproj", "/b", "--no-mmproj"}),
              UnorderedElementsAre("--model=/a", "--no-mmproj=true"));
  EXPECT_THAT(args_of({"-m", "/a", "--mmproj-auto"}), UnorderedElementsAre("--model=/a"));
}

TEST(LlamaArguments, VectorsAndRanksAreAskedForByTheSameNames) {
  EXPECT_THAT(args_of({"--embeddings", "--pooling", "cls", "--embd-normalize", "-1"}),
              UnorderedElementsAre("--embedding=true", "--pooling=cls", "--embd-normalize=-1"));
  EXPECT_THAT(args_of({"--rerank"}), ElementsAre("--reranking=true"));
  EXPECT_THAT(args_of({}, {{"LLAMA_ARG_EMBEDDINGS", "1"}, {"LLAMA_ARG_RERANKING", "1"}, {"LLAMA_ARG_POOLING", "rank"}}),
              UnorderedElementsAre("--embedding=true", "--reranking=true", "--pooling=rank"));
}

TEST(LlamaArguments, OneThatNobodyKnowsIsAnErrorThatNamesThoseThatAreKnown) {
  EXPECT_THAT(error_of({"--ctx-sze", "4"}), AllOf(HasSubstr("there is no argument --ctx-sze; did you mean --ctx-size?"),
                                                  HasSubstr("; known are -m --model"), HasSubstr(" --list-devices")));
  EXPECT_THAT(error_of({"model.gguf"}), HasSubstr("there is no argument model.gguf"));
  EXPECT_THAT(error_of({"-c"}), HasSubstr("-c: found no value, expected N"));
  EXPECT_THAT(error_of({"-np", "many"}), HasSubstr("-np: found 'many', expected an integer"));
  EXPECT_THAT(error_of({"--jinja=1"}), HasSubstr("--jinja: found a value, expected none"));
}

TEST(LlamaArguments, NamesMayHaveUnderscoresAndTheLastValueCounts) {
  EXPECT_THAT(args_of({"--ctx_size", "4096", "-c", "2048"}), ElementsAre("--max-context=2048"));
  EXPECT_THAT(args_of({"--no-slots", "--slots"}), IsEmpty());
  EXPECT_THAT(args_of({"--slots", "--no-slots"}), ElementsAre("--no-slots=true"));
  EXPECT_THAT(args_of({"--kv-memory", "1GiB", "--ctx-size=2048"}),
              UnorderedElementsAre("--kv-memory", "1GiB", "--max-context=2048"))
      << "options of octavo serve are taken, too";
}

TEST(LlamaArguments, VariablesCountWhereTheCommandLineSaysNothing) {
  EXPECT_THAT(args_of({}, {{"LLAMA_ARG_CTX_SIZE", "8192"}, {"LLAMA_ARG_N_PARALLEL", "2"}}),
              ElementsAre("--max-sequences=2", "--max-context=4096"));
  EXPECT_THAT(args_of({"-c", "1000"}, {{"LLAMA_ARG_CTX_SIZE", "8192"}}), ElementsAre("--max-context=1000"));
  EXPECT_THAT(args_of({}, {{"LLAMA_ARG_ENDPOINT_SLOTS", "0"}}), ElementsAre("--no-slots=true"));
  EXPECT_THAT(args_of({}, {{"LLAMA_ARG_NO_ENDPOINT_SLOTS", "1"}}), ElementsAre("--no-slots=true"));
  EXPECT_THAT(args_of({"--slots"}, {{"LLAMA_ARG_ENDPOINT_SLOTS", "0"}}), IsEmpty());
  EXPECT_THAT(args_of({}, {{"LLAMA_ARG_EMBEDDINGS", "0"}}), IsEmpty());
  EXPECT_THAT(args_of({"-m", "/m"}, {{"LLAMA_ARG_HF_REPO", "a/b"}}), ElementsAre("--model=/m"));
}

TEST(LlamaArguments, LayersOnACardAreAskedForAsThere) {
  EXPECT_THAT(args_of({"-m", "/m", "-ngl", "7"}), ElementsAre("--model=/m", "--gpu-layers=7", "--device=auto"));
  EXPECT_THAT(args_of({"-m", "/m", "-ngl", "0"}), ElementsAre("--model=/m", "--gpu-layers=0"));
  EXPECT_THAT(args_of({"-m", "/m", "-dev", "none"}), ElementsAre("--model=/m", "--device=cpu"));
  EXPECT_THAT(args_of({"-m", "/m", "-dev", "CUDA0", "-ngl", "-1"}),
              ElementsAre("--model=/m", "--device=cuda", "--gpu-layers=all"));
  EXPECT_THAT(translation_of({"-m", "/m", "-dev", "CUDA1"}).error().message,
              HasSubstr("found 'CUDA1', expected none or CUDA0"));
  EXPECT_THAT(translation_of({"-m", "/m", "-ngl", "many"}).error().message, HasSubstr("or auto, or all"));
}

TEST(LlamaArguments, ServeTakesThemWhereItsOwnOptionsHaveOtherNames) {
  const auto octavo = [](const Words& args, std::map<std::string, std::string> environment = {}) {
    return args_of(args, std::move(environment), Dialect::kOctavo);
  };
  EXPECT_THAT(octavo({"m.gguf", "-c", "8192", "-np", "4", "-ngl", "99", "--jinja"}),
              ElementsAre("--max-sequences=4", "--gpu-layers=99", "--device=auto", "m.gguf", "-c", "8192"))
      << "-c is one request's context";
  EXPECT_THAT(octavo({"--chat-template", "file.jinja", "--", "-np"}),
              ElementsAre("--chat-template", "file.jinja", "--", "-np"));
  EXPECT_THAT(octavo({"--fly", "--port=1"}), ElementsAre("--fly", "--port=1")) << "for serve to refuse";
  EXPECT_THAT(octavo({"-np", "4", "--max-sequences", "8"}), ElementsAre("--max-sequences", "8"));
  EXPECT_THAT(octavo({"m.gguf"}, {{"LLAMA_ARG_MODEL", "/o.gguf"}, {"LLAMA_ARG_PORT", "81"}}),
              ElementsAre("--port=81", "m.gguf"));
  EXPECT_THAT(octavo({"--max-context", "5"}, {{"LLAMA_ARG_CTX_SIZE", "9"}}), ElementsAre("--max-context", "5"));
  EXPECT_THAT(octavo({"-m", "m", "--mmproj", "n"}), ElementsAre("-m", "m", "--mmproj", "n"));
  EXPECT_THAT(error_of({"-m", "m", "--lora", "x"}, Dialect::kOctavo), HasSubstr("--lora is refused"));
}

TEST(LlamaArguments, SomeAskForATextAndNoServer) {
  using Action = LlamaTranslation::Action;
  EXPECT_EQ(translation_of({"--list-devices", "--offline", "--verbose"})->action, Action::kListDevices);
  EXPECT_EQ(translation_of({"--version"})->action, Action::kVersion);
  EXPECT_EQ(translation_of({"--lora", "x", "-h"})->action, Action::kHelp);
}

}  // namespace
}  // namespace octavo::cli
