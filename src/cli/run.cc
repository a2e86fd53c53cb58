// octavo run: answers one prompt, once or several times, and streams the answer.
#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "cli/batch/run_batch.h"
#include "cli/commands.h"
#include "cli/generate.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/options/sampling_options.h"
#include "cli/picture_file.h"
#include "cli/prompt.h"
#include "cli/terminal/output.h"

namespace octavo::cli {
namespace {

struct RunOptions {
  EngineOptions engine = engine_of_one_user();
  SamplingFlags sampling;
  std::string model, system, prompt;
  PromptSources sources;
  std::vector<std::string> words;   // the prompt, from words that are not options
  std::vector<std::string> images;  // paths of files
  bool raw = false;
  bool json = false;
  BatchOptions batch;
  std::optional<ConstraintSource> constraint;
  bool closes_objects = true;  // for the constraint, and for lines of batches that do not say
  std::vector<std::string> stop;
  int max_tokens = 0;
  int min_tokens = 0;
  int num_choices = 1;
  int reasoning_budget = -1;
};

Result<ChatPrompt> make_prompt(const RunOptions& options, const std::string& prompt, const Engine& engine) {
  if (options.raw) {
    OCTAVO_TRY(std::vector<TokenId> tokens, engine.text()->tokenize(prompt, {}));
    return ChatPrompt{.tokens = std::move(tokens)};
  }
  if (!options.images.empty()) OCTAVO_TRY_VOID(check_sees(engine.info(), "--image"));
  std::vector<PictureInput> pictures;
  for (const std::string& path : options.images) {
    OCTAVO_TRY(pictures.emplace_back(), read_picture(path, options.engine.picture_bounds));
  }
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({.role = "system", .content = options.system});
  messages.push_back(user_message(prompt, pictures));
  return engine.text()->chat_prompt(messages, {});
}

Result<Request> make_request(const RunOptions& options, const std::string& text, const Engine& engine,
                             Context& context) {
  OCTAVO_TRY(ChatPrompt prompt, make_prompt(options, text, engine));
  if (prompt.tokens.empty()) return fail("the prompt is empty");
  for (const std::string& warning : prompt.warnings) context.log->warn("{}", warning);
  Request request{.tokens = std::move(prompt.tokens),
                  .generation_prompt_tokens = prompt.generation_prompt_tokens,
                  .sampling = resolve_sampling(options.sampling, engine, context),
                  .max_tokens = options.max_tokens,
                  .min_tokens = options.min_tokens,
                  .stop = options.stop,
                  .logprobs = options.json,
                  .num_choices = options.num_choices,
                  .pictures = std::move(prompt.pictures)};
  const int room = engine.info().max_context - static_cast<int>(request.tokens.size());
  if (room > 0) request.max_tokens = std::min(request.max_tokens, room);  // an upper limit can always be kept
  if (options.constraint) {
    ConstraintSource source = *options.constraint;
    source.closes_objects = options.closes_objects;
    OCTAVO_TRY(request.constraint, engine.text()->compile_constraint(source));
    for (const std::string& warning : request.constraint->warnings()) context.log->warn("--json-schema: {}", warning);
  }
  if (options.raw) return request;  // a text that is continued is not searched for reasoning
  request.reasoning = {.mode = ReasoningMode::kSplit,
                       .begins_inside = prompt.ends_in_reasoning,
                       .budget = usable_reasoning_budget(engine, options.reasoning_budget, context)};
  return request;
}

boost::json::object to_json(const Answer& answer, const ModelInfo& info, std::uint64_t seed) {
  const RequestStats& stats = answer.stats;
  const Speed speed = speed_of(answer, info);
  boost::json::array tokens(answer.tokens.begin(), answer.tokens.end());
  boost::json::array logprobs(answer.logprobs.begin(), answer.logprobs.end());
  boost::json::object object = {
      {"model", to_valid_utf8(info.name)},
      {"system_fingerprint", info.fingerprint},
      {"text", answer.text},
      {"tokens", std::move(tokens)},
      {"logprobs", std::move(logprobs)},
      {"finish_reason", finish_reason_name(answer.finish)},
      {"seed", seed},
      {"prompt_tokens", stats.prompt_tokens},
      {"generated_tokens", stats.generated_tokens},
      {"drafted_tokens", stats.drafted_tokens},
      {"accepted_draft_tokens", stats.accepted_draft_tokens},
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
  if (!info.reasoning.empty()) {
    object["reasoning"] = answer.reasoning;
    object["reasoning_tokens"] = stats.reasoning_tokens;
  }
  return object;
}

/// The answer as a JSON object; several choices are an array of such objects, each with its number.
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

/// Prints all choices but the first, which was shown while it was made.
void print_other_choices(std::span<const Answer> answers, AnswerOutput& output) {
  for (std::size_t i = 1; i < answers.size(); ++i) {
    output.end_line();
    output.write(fmt::format("--- choice {} of {} ---\n", i + 1, answers.size()));
    output.write_reasoning(answers[i].reasoning);
    output.write(answers[i].text);
  }
}

/// Warns of answers whose tokens were all spent on reasoning: in a file or a pipe they look empty.
void warn_of_hidden_answers(std::span<const Answer> answers, const Context& context) {
  const auto is_hidden = [](const Answer& answer) { return answer.text.empty() && !answer.reasoning.empty(); };
  const auto hidden = std::ranges::find_if(answers, is_hidden);
  if (hidden == answers.end() || context.out.is_terminal()) return;
  context.log->warn(
      "the answer ended within its reasoning, after {} tokens of it; --reasoning-budget bounds them, --json shows them",
      hidden->stats.reasoning_tokens);
}

void log_stats(const EngineStats& stats, const Context& context) {
  context.log->info("{} steps, {} tokens computed, {} found in the prefix cache, {} preemptions", stats.steps,
                    stats.computed_tokens, stats.cached_tokens, stats.preemptions);
  context.log->info("{}", stats.kv.summary());
}

Result<int> run(const RunOptions& options, Context& context) {
  if (!options.batch.file.empty()) {
    const BatchDefaults defaults{.max_tokens = options.max_tokens,
                                 .reasoning_budget = options.reasoning_budget,
                                 .closes_objects = options.closes_objects,
                                 .seed = options.sampling.seed};
    return run_batch(options.batch, options.engine, options.model, options.sampling, defaults, context);
  }
  OCTAVO_TRY(const std::filesystem::path model,
             resolve_model(options.model, context, {}, model_to_talk_to(options.engine)));
  if (!options.raw) OCTAVO_TRY_VOID(check_chat_template(model, options.engine.chat_template));
  OCTAVO_TRY(const std::string prompt, read_prompt(options.sources, context));
  if (prompt.empty()) return fail("the prompt is empty; give it as words, with -p, with -f, or pipe it in");
  EngineOptions engine_options = options.engine;
  engine_options.require_words = true;
  engine_options.max_sequences = options.num_choices;  // no more KV memory than the choices can use
  OCTAVO_TRY(const auto engine, load_engine(std::move(engine_options), model.string(), context));
  OCTAVO_TRY(Request request, make_request(options, prompt, *engine, context));
  const std::uint64_t seed = request.sampling.seed;

  AnswerOutput output(context.out, options.raw || options.constraint ? LineBreaks::kAtTheEdge : LineBreaks::kAtSpaces);
  const auto is_shown = [&options](std::size_t choice) { return !options.json && choice == 0; };
  OCTAVO_TRY(const std::vector<Answer> answers,
             generate_choices(
                 *engine, std::move(request),
                 [&](std::size_t choice, std::string_view text) { return !is_shown(choice) || output.write(text); },
                 [&](std::size_t choice, std::string_view text) {
                   return !is_shown(choice) || output.write_reasoning(text);
                 }));
  if (options.json) {
    context.out << to_json(answers, engine->info(), seed) << '\n' << std::flush;
  } else {
    print_other_choices(answers, output);
    output.end_line();
    warn_of_hidden_answers(answers, context);
  }
  if (context.err.is_terminal()) context.err << speed_line(answers.front(), engine->info()) << '\n' << std::flush;
  log_stats(engine->stats(), context);
  return finish_output(context, std::ranges::any_of(answers, &Answer::interrupted) ? kInterrupted : kDone);
}

void add_prompt_options(Command& command, RunOptions& options) {
  add_model_option(command, options.model, "[MODEL.gguf] [PROMPT...]", options.words);
  const Option* prompt = command.add_option("-p,--prompt", options.prompt, "The prompt, if it is not given as words");
  command
      .add_option("-f,--file", options.sources.file,
                  "A file with the prompt, or with what the prompt is about; -: standard input")
      ->check(refuse_empty)
      ->type_name("FILE");
  command.add_option("--system", options.system, "The system message");
  command.add_option("--image", options.images, "A picture before the prompt, for a model that sees; may be repeated")
      ->check(refuse_empty)
      ->type_name("FILE");
  command.add_flag("--raw", options.raw, "Continue the text as it is, without the chat template");
  command.on_parsed([&options, prompt]() -> Result<void> {
    if (options.raw && !options.system.empty()) return fail("--system needs the chat template: leave out --raw");
    if (options.raw && !options.images.empty()) return fail("--image needs the chat template: leave out --raw");
    if (options.raw && options.reasoning_budget != -1)
      return fail("--reasoning-budget needs the chat template: leave out --raw");
    if (prompt->count() > 0) {
      options.sources.text = options.prompt;
      if (!options.words.empty())
        return fail("found the word '{}' beside --prompt, expected one prompt", options.words[0]);
    } else if (!options.words.empty()) {
      options.sources.text = fmt::format("{}", fmt::join(options.words, " "));
    }
    return {};
  });
}

}  // namespace

void add_run_command(Program& program, Context& context) {
  auto options = std::make_shared<RunOptions>();
  Command& command = program.add_command("run", "Answers one prompt");
  command.footer(
      "The first word is the model if it ends in .gguf or names a GGUF file; the others\n"
      "are the prompt. With -m every word belongs to the prompt.\n"
      "Text that is piped in comes first, then the text of -f, then the prompt, with a\n"
      "blank line between them. Next to a prompt, a pipe that gives nothing for 3 s is\n"
      "left alone; -f - waits for it. Without a prompt all comes from standard input.\n"
      "It is put into the model's chat template, unless --raw is given: then the model\n"
      "continues the text. Ctrl-C ends the answer; the exit code is then 130.\n"
      "--batch answers a file of requests, one JSON object a line, as the server would;\n"
      "the exit code is 1 if a line failed.\n\n"
      "Examples:\n"
      "  octavo run \"Why is the sky blue?\"\n"
      "  octavo run model.gguf \"Write a haiku.\" -n 40 --temp 0\n"
      "  cat notes.txt | octavo run \"Sum this up:\"\n"
      "  octavo run -f report.txt -p \"Which figures are given?\" --system \"Be brief.\"\n"
      "  echo \"Once upon a time\" | octavo run --raw --seed 7\n"
      "  octavo run -m vl.gguf --mmproj mmproj.gguf --image a.jpg \"What is it?\"\n"
      "  octavo run Hello --json\n"
      "  octavo run \"When did the wall fall? Year:\" --regex \"[0-9]{4}\"\n"
      "  octavo run --batch requests.jsonl --output answers.jsonl");
  add_prompt_options(command, *options);
  add_integer(command, "-n,--max-tokens", options->max_tokens, 1, std::numeric_limits<int>::max(),
              "Tokens of the answer at most; default: until the model ends it or the context is full");
  add_integer(command, "--min-tokens", options->min_tokens, 0, std::numeric_limits<int>::max(),
              "Tokens that the answer has at least, before the model or a stop text may end it; default 0");
  add_integer(command, "--choices", options->num_choices, 1, kMaxChoices,
              "Answers to make of the one prompt, printed one after the other; default 1");
  command.add_flag("--json", options->json,
                   "Print one JSON object at the end: text, reasoning, tokens, logprobs, finish_reason, seed, timings, "
                   "memory; of several choices an array of them");
  add_reasoning_budget_option(command, options->reasoning_budget);
  add_sampling_options(command, options->sampling);
  add_seed_option(command, options->sampling);
  add_stop_option(command, options->stop);
  add_constraint_options(command, options->constraint);
  add_additional_properties_option(command, options->closes_objects, "an object's schema");
  add_batch_options(command, options->batch, options->words);
  add_draft_options(command, options->engine);
  add_kv_store_options(command, options->engine.kv_store, context);
  add_picture_options(command, options->engine);
  add_engine_options(command, options->engine, context);
  add_chat_template_option(command, options->engine.chat_template);
  add_generation_config_option(command, options->engine.generation_config);
  add_tokenizer_option(command, options->engine.tokenizer_path);
  command.on_parsed([options]() -> Result<void> {
    if (!options->batch.file.empty() && !options->images.empty())
      return fail("found --image beside --batch, expected pictures in its lines");
    if (options->batch.file.empty() || !options->constraint) return {};
    return fail("found --regex, --grammar or --json-schema beside --batch, expected constraints in its lines");
  });
  command.action([options, &context] { return run(*options, context); });
}

}  // namespace octavo::cli
