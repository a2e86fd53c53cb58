// octavo run: one prompt, one answer or several, streamed.
#include <algorithm>
#include <boost/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/generate.h"
#include "cli/options.h"
#include "cli/output.h"
#include "tokenizer/utf8.h"

namespace octavo::cli {
namespace {

struct RunOptions {
  EngineOptions engine;
  SamplingFlags sampling;
  std::string model, prompt, file;
  bool has_prompt = false;
  bool raw = false;
  bool json = false;
  std::vector<std::string> stop;
  int max_tokens = 0;
  int min_tokens = 0;
  int num_choices = 1;
};

Result<std::string> read_prompt(const RunOptions& options, Context& context) {
  if (options.has_prompt) return options.prompt;
  OCTAVO_TRY(std::string text, read_text(options.file, context));
  // A text file ends with a newline that is not meant; more than one is.
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

Result<std::vector<TokenId>> prompt_tokens(const RunOptions& options, const std::string& prompt, const Engine& engine) {
  if (options.raw) return engine.tokenize(prompt, {});
  const ChatMessage message{.role = "user", .content = prompt};
  return engine.apply_chat_template({&message, 1});
}

boost::json::object to_json(const Answer& answer, const ModelInfo& info, std::uint64_t seed) {
  const RequestStats& stats = answer.stats;
  const Speed speed = speed_of(answer, info);
  boost::json::array tokens(answer.tokens.begin(), answer.tokens.end());
  boost::json::array logprobs(answer.logprobs.begin(), answer.logprobs.end());
  return {
      {"model", to_valid_utf8(info.name)},
      {"text", answer.text},
      {"tokens", std::move(tokens)},
      {"logprobs", std::move(logprobs)},
      {"finish_reason", finish_reason_name(answer.finish)},
      {"seed", seed},
      {"prompt_tokens", stats.prompt_tokens},
      {"generated_tokens", stats.generated_tokens},
      {"timings",
       {{"time_to_first_token_s", stats.time_to_first_token_s},
        {"total_s", stats.total_s},
        {"tokens_per_s", speed.tokens_per_s},
        {"gb_per_s", speed.gb_per_s}}},
      {"memory",
       {{"weight_bytes", info.weight_bytes},
        {"mapped_weight_bytes", info.mapped_weight_bytes},
        {"kv_arena_bytes", info.kv_arena_bytes},
        {"kv_bytes_per_token", info.kv_bytes_per_token},
        {"max_context", info.max_context}}},
  };
}

/// One object; of several choices an array of such objects, each with its choice.
std::string to_json(std::span<const Answer> answers, const ModelInfo& info, std::uint64_t seed) {
  if (answers.size() == 1) return boost::json::serialize(to_json(answers.front(), info, seed));
  boost::json::array list;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    boost::json::object object = to_json(answers[i], info, seed);
    object["choice"] = i;
    list.push_back(std::move(object));
  }
  return boost::json::serialize(list);
}

/// The first choice was shown while it was made.
void print_other_choices(std::span<const Answer> answers, TextOutput& output) {
  for (std::size_t i = 1; i < answers.size(); ++i) {
    output.end_line();
    output.write(fmt::format("--- choice {} of {} ---\n", i + 1, answers.size()));
    output.write(answers[i].text);
  }
}

void log_stats(const EngineStats& stats, const Context& context) {
  context.log->info("{} steps, {} tokens computed, {} found in the prefix cache, {} preemptions", stats.steps,
                    stats.computed_tokens, stats.cached_tokens, stats.preemptions);
  context.log->info("{}", stats.kv.summary());
}

Result<int> run(const RunOptions& options, Context& context) {
  if (!options.raw) OCTAVO_TRY_VOID(check_chat_template(options.model, context));
  OCTAVO_TRY(const std::string prompt, read_prompt(options, context));
  OCTAVO_TRY(const auto engine, load_engine(options.engine, options.model, context));
  Request request;
  OCTAVO_TRY(request.tokens, prompt_tokens(options, prompt, *engine));
  if (request.tokens.empty()) return fail("the prompt is empty");
  request.max_tokens = options.max_tokens;
  request.min_tokens = options.min_tokens;
  request.stop = options.stop;
  request.num_choices = options.num_choices;
  request.sampling = resolve_sampling(options.sampling, *engine, context);
  const std::uint64_t seed = request.sampling.seed;

  TextOutput output(context.out, context.out_is_terminal);
  OCTAVO_TRY(const std::vector<Answer> answers,
             generate_choices(*engine, std::move(request), [&](std::size_t choice, std::string_view text) {
               return options.json || choice != 0 || output.write(text);
             }));
  if (options.json) {
    context.out << to_json(answers, engine->info(), seed) << '\n' << std::flush;
  } else {
    print_other_choices(answers, output);
    output.end_line();
  }
  if (context.err_is_terminal) context.err << speed_line(answers.front(), engine->info()) << '\n' << std::flush;
  log_stats(engine->stats(), context);
  if (!context.out) return fail("cannot write to the standard output");
  return std::ranges::any_of(answers, &Answer::interrupted) ? kInterrupted : kDone;
}

}  // namespace

void add_run_command(CLI::App& app, Context& context, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Answers one prompt");
  command->footer(
      "The prompt comes from -p, from -f or from standard input (one newline at its end is dropped). It is put\n"
      "into the model's chat template, unless --raw is given: then the model continues the text.\n"
      "Ctrl-C ends the answer; the exit code is then 130.\n\n"
      "Examples:\n"
      "  octavo run -p \"Why is the sky blue?\"\n"
      "  octavo run -m model.gguf -f question.txt -n 200 --temp 0\n"
      "  echo \"Once upon a time\" | octavo run --raw --seed 7\n"
      "  octavo run -p Hello --json");
  add_model_option(*command, options->model);
  CLI::Option* prompt = command->add_option("-p,--prompt", options->prompt, "The prompt")->option_text("TEXT");
  CLI::Option* file = command->add_option("-f,--file", options->file, "A file with the prompt");
  file->check(refuse_empty)->option_text("FILE");
  prompt->excludes(file);
  add_integer(*command, "-n,--max-tokens", options->max_tokens, 1, std::numeric_limits<int>::max(),
              "Tokens of the answer at most; default: until the model ends it or the context is full");
  add_integer(*command, "--min-tokens", options->min_tokens, 0, std::numeric_limits<int>::max(),
              "Tokens that the answer has at least, before the model or a stop text may end it; default 0");
  add_integer(*command, "--choices", options->num_choices, 1, kMaxChoices,
              "Answers to make of the one prompt, printed one after the other; default 1");
  add_sampling_options(*command, options->sampling);
  add_stop_option(*command, options->stop);
  command->add_flag("--raw", options->raw, "Continue the text as it is, without the chat template");
  command->add_flag("--json", options->json,
                    "Print one JSON object at the end: text, tokens, logprobs, finish_reason, seed, timings,\n"
                    "memory; of several choices an array of them");
  add_engine_options(*command, options->engine, context);
  command->callback([options, prompt, &context, &action] {
    options->has_prompt = prompt->count() > 0;
    action = [options, &context] { return run(*options, context); };
  });
}

}  // namespace octavo::cli
