// octavo chat: a conversation, line by line.
#include <spdlog/logger.h>

#include <array>
#include <ostream>

#include "cli/commands.h"
#include "cli/generate.h"
#include "cli/line_reader.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"

namespace octavo::cli {
namespace {

struct ChatOptions {
  EngineOptions engine;
  SamplingFlags sampling;
  std::string model, system;
  std::vector<std::string> stop;
  int max_tokens = 0;
};

constexpr std::string_view kHelp =
    "  /reset   forget the conversation (the system message stays)\n"
    "  /quit    leave; so do /exit, /bye, Ctrl-D, and Ctrl-C twice at an empty prompt\n"
    "  /help    this list\n"
    "  Ctrl-C   stop the answer\n";

/// Lines that are for the chat itself.
const std::array<std::string, 6> kCommands = {"/reset", "/quit", "/exit", "/bye", "/help", "/?"};

class Chat {
 public:
  /// `title`: how the model is called in the greeting.
  Chat(const ChatOptions& options, std::string title, std::unique_ptr<Engine> engine, Context& context)
      : options_(options),
        title_(std::move(title)),
        engine_(std::move(engine)),
        context_(context),
        sampling_(resolve_sampling(options.sampling, *engine_, context)),
        interactive_(context.in_is_terminal && context.out_is_terminal) {
    reset();
  }

  Result<int> loop() {
    if (interactive_) context_.out << escaped(title_) << ", /help for help, /bye leaves\n" << std::flush;
    const std::unique_ptr<LineReader> reader = make_line_reader(context_);
    bool interrupted_before = false;
    for (;;) {
      const Line line = reader->read("> ");
      if (line.kind == Line::Kind::kEnd) return kDone;
      if (line.kind == Line::Kind::kInterrupted) {
        if (interrupted_before && line.text.empty()) return kDone;
        interrupted_before = line.text.empty();
        if (interrupted_before) context_.out << "(Ctrl-C again or Ctrl-D leaves)" << '\n' << std::flush;
        continue;
      }
      interrupted_before = false;
      if (line.text == "/quit" || line.text == "/exit" || line.text == "/bye") return kDone;
      OCTAVO_TRY_VOID(take(line.text));
      if (!context_.out) return fail("cannot write to the standard output");
    }
  }

 private:
  void reset() {
    messages_.clear();
    if (!options_.system.empty()) messages_.push_back({.role = "system", .content = options_.system});
  }

  Result<void> take(const std::string& line) {
    if (line.find_first_not_of(" \t") == std::string::npos) return {};
    if (line == "/help" || line == "/?") {
      context_.out << kHelp << std::flush;
    } else if (line == "/reset") {
      reset();
      if (interactive_) context_.out << "(the conversation is forgotten)" << '\n' << std::flush;
    } else if (line.starts_with('/') && line.find(' ') == std::string::npos) {
      note("unknown command " + line + did_you_mean(line, kCommands) + "; /help lists the commands");
    } else {
      return answer(line);
    }
    return {};
  }

  /// Adds the message and the model's answer to the conversation; the message is taken back if there is no room for it.
  Result<void> answer(const std::string& line) {
    messages_.push_back({.role = "user", .content = line});
    Request request;
    OCTAVO_TRY(request.tokens, engine_->apply_chat_template(messages_));
    const int context_size = engine_->info().max_context;
    const int room = context_size - static_cast<int>(request.tokens.size());
    if (room < 1) {
      messages_.pop_back();
      note(
          fmt::format("no room: the conversation and this message have {} tokens, the context holds {}; /reset "
                      "begins a new conversation",
                      request.tokens.size(), context_size));
      return {};
    }
    request.max_tokens = options_.max_tokens == 0 ? 0 : std::min(options_.max_tokens, room);
    request.sampling = sampling_;
    request.stop = options_.stop;
    TextOutput output(context_.out, context_.out_is_terminal);
    OCTAVO_TRY(Answer answer,
               generate(*engine_, std::move(request), [&](std::string_view text) { return output.write(text); }));
    output.end_line();
    if (answer.finish == FinishReason::kContext || (answer.stats.generated_tokens >= room && !answer.interrupted))
      note(fmt::format("the context of {} tokens is full; /reset begins a new conversation", context_size));
    context_.log->info("{}", speed_line(answer, engine_->info()));
    messages_.push_back({.role = "assistant", .content = std::move(answer.text)});
    return {};
  }

  void note(const std::string& text) { context_.err << "octavo: " << text << '\n' << std::flush; }

  const ChatOptions& options_;
  const std::string title_;
  std::unique_ptr<Engine> engine_;
  Context& context_;
  SamplingParams sampling_;
  bool interactive_;
  std::vector<ChatMessage> messages_;
};

Result<int> chat(const ChatOptions& options, Context& context) {
  OCTAVO_TRY_VOID(check_chat_template(options.model, options.engine.chat_template, context));
  OCTAVO_TRY(const std::filesystem::path file, resolve_model(options.model, context));
  EngineOptions engine_options = options.engine;
  engine_options.require_words = true;
  engine_options.max_sequences = 1;  // its KV memory is no larger than what one conversation can use
  OCTAVO_TRY(auto engine, load_engine(std::move(engine_options), options.model, context));
  // People know the file's name; the one in the file is often that of a training run.
  return Chat(options, file.stem().string(), std::move(engine), context).loop();
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
      std::string(kHelp) +
      "\n"
      "Examples:\n"
      "  octavo chat\n"
      "  octavo chat model.gguf --system \"Answer in one sentence.\"\n"
      "  printf 'I am Ada.\\nWho am I?\\n' | octavo chat --temp 0");
  add_model_option(command, options->model);
  command.add_option("--system", options->system, "The system message");
  add_integer(command, "-n,--max-tokens", options->max_tokens, 1, std::numeric_limits<int>::max(),
              "Tokens of each answer at most; default: until the model ends it or the context is full");
  add_sampling_options(command, options->sampling);
  add_stop_option(command, options->stop);
  add_engine_options(command, options->engine, context);
  add_chat_template_option(command, options->engine.chat_template);
  command.action([options, &context] { return chat(*options, context); });
}

}  // namespace octavo::cli
