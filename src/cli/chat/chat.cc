// octavo chat: a conversation, line by line.
#include "cli/chat/chat_session.h"
#include "cli/commands.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "source/shard_name.h"

namespace octavo::cli {
namespace {

struct ChatOptions {
  EngineOptions engine = engine_of_one_user();
  ChatSettings settings;
  std::string model;
};

Result<int> chat(const ChatOptions& options, Context& context) {
  OCTAVO_TRY(const std::filesystem::path file,
             resolve_model(options.model, context, {}, model_to_talk_to(options.engine)));
  OCTAVO_TRY_VOID(check_chat_template(file, options.engine.chat_template));
  EngineOptions engine_options = options.engine;
  engine_options.require_words = true;
  engine_options.max_sequences = 1;  // no more KV memory than one conversation can use
  OCTAVO_TRY(auto engine, load_engine(std::move(engine_options), file.string(), context));
  // People know the file's name, while the name in it is often that of a training run.
  ChatSettings settings = options.settings;
  settings.picture_bounds = options.engine.picture_bounds;
  return ChatSession(std::move(settings), model_stem(file), std::move(engine), context).loop();
}

}  // namespace

void add_chat_command(Program& program, Context& context) {
  auto options = std::make_shared<ChatOptions>();
  Command& command = program.add_command("chat", "Talks with the model, line by line");
  command.footer(
      "On a terminal lines can be edited and called back with the arrow keys.\n"
      "Otherwise each line of standard input is a message, so that a conversation can\n"
      "be a script.\n\n"
      "Within the chat:\n" +
      chat_commands_help() +
      "\n"
      "Examples:\n"
      "  octavo chat\n"
      "  octavo chat model.gguf --system \"Answer in one sentence.\"\n"
      "  printf 'I am Ada.\\nWho am I?\\n' | octavo chat --temp 0");
  add_model_option(command, options->model);
  ChatSettings& settings = options->settings;
  command.add_option("--system", settings.system, "The system message");
  add_integer(command, "-n,--max-tokens", settings.max_tokens, 1, std::numeric_limits<int>::max(),
              "Tokens of each answer at most; default: until the model ends it or the context is full");
  add_reasoning_budget_option(command, settings.reasoning_budget);
  add_sampling_options(command, settings.sampling);
  add_seed_option(command, settings.sampling);
  add_stop_option(command, settings.stop);
  add_draft_options(command, options->engine);
  add_kv_store_options(command, options->engine.kv_store, context);
  add_picture_options(command, options->engine);
  add_engine_options(command, options->engine, context);
  add_chat_template_option(command, options->engine.chat_template);
  add_generation_config_option(command, options->engine.generation_config);
  add_tokenizer_option(command, options->engine.tokenizer_path);
  command.action([options, &context] { return chat(*options, context); });
}

}  // namespace octavo::cli
