#include "cli/chat/chat_session.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/ascii.h"
#include "base/to_size.h"
#include "cli/chat/conversation_file.h"
#include "cli/options/nearest.h"
#include "cli/options/options.h"
#include "cli/picture_file.h"
#include "cli/terminal/line_reader.h"
#include "cli/terminal/message_reader.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string percent_of(int part, int whole) { return fmt::format("{:.0f} %", whole == 0 ? 0.0 : 100.0 * part / whole); }

/// A line such as "97 tokens, 184.2 tokens/s, 31 of 40 drafted, first after 0.21 s; prompt of 240, 93 % of it cached".
std::string figures_of(const Answer& answer, const ModelInfo& info) {
  const RequestStats& stats = answer.stats;
  std::string line = fmt::format("{} tokens", stats.generated_tokens);
  if (const Speed speed = speed_of(answer, info); speed.tokens_per_s > 0)
    line += fmt::format(", {:.1f} tokens/s", speed.tokens_per_s);
  if (stats.drafted_tokens > 0)
    line += fmt::format(", {} of {} drafted", stats.accepted_draft_tokens, stats.drafted_tokens);
  if (stats.generated_tokens > 0) line += fmt::format(", first after {:.2f} s", stats.time_to_first_token_s);
  return line + fmt::format("; prompt of {}, {} of it cached", stats.prompt_tokens,
                            percent_of(stats.cached_tokens, stats.prompt_tokens));
}

/// The tokens of an answer that make its text; nothing where a stop text was cut off, as that may end within a token.
std::optional<std::vector<TokenId>> tokens_of_text(const ModelText& words, std::span<const TokenId> prompt,
                                                   const Answer& answer, bool has_stop_texts) {
  std::vector<TokenId> tokens = answer.tokens;
  if (answer.finish != FinishReason::kStop) return tokens;
  tokens.pop_back();
  if (!has_stop_texts) return tokens;
  std::vector<TokenId> all(prompt.begin(), prompt.end());
  const std::size_t begin = words.detokenize(all).size();
  all.insert(all.end(), tokens.begin(), tokens.end());
  if (!words.detokenize(all).substr(begin).ends_with(answer.text)) return std::nullopt;  // reasoning comes before it
  return tokens;
}

}  // namespace

struct ChatSession::Command {
  std::string name;
  std::string_view shown;  // the command with its argument
  std::string_view help;
  Result<void> (ChatSession::*action)(const std::string& argument);
  bool takes_argument = false;
};

const std::vector<ChatSession::Command>& ChatSession::commands() {
  static const std::vector<Command> all = {
      {"/system", "/system [TEXT]", "show or change the system message; \"\": none", &ChatSession::change_system, true},
      {"/regen", "/regen", "answer the last message once more", &ChatSession::regenerate},
      {"/undo", "/undo", "take back the last message and its answer", &ChatSession::undo},
      {"/reset", "/reset", "forget the conversation (the system message stays)", &ChatSession::reset},
      {"/save", "/save FILE", "write the conversation to a file", &ChatSession::save, true},
      {"/load", "/load FILE", "go on with a conversation from a file", &ChatSession::load, true},
      {"/image", "/image FILE", "show a picture with the next message; or drop its file here",
       &ChatSession::show_picture, true},
      {"/set", "/set [NAME VALUE]", "show or change how tokens are drawn", &ChatSession::set, true},
      {"/tokens", "/tokens", "how full the context is", &ChatSession::show_tokens},
      {"/help", "/help", "this list", &ChatSession::help},
      {"/?", "", "", &ChatSession::help},
      {"/bye", "/bye", "leave; so do /exit, /quit, Ctrl-D, and Ctrl-C twice", &ChatSession::leave},
      {"/exit", "", "", &ChatSession::leave},
      {"/quit", "", "", &ChatSession::leave},
  };
  return all;
}

std::string chat_commands_help() {
  std::string text;
  for (const ChatSession::Command& command : ChatSession::commands())
    if (!command.shown.empty()) text += fmt::format("  {:<18} {}\n", command.shown, command.help);
  return text +
         "  Ctrl-C             stop the answer; what was written stays\n"
         "  line \\             a line that ends so goes on in the next\n"
         "  \"\"\" ... \"\"\"        lines between them are one message; so is a paste\n";
}

ChatSession::ChatSession(ChatSettings settings, std::string title, std::unique_ptr<Engine> engine, Context& context)
    : settings_(std::move(settings)),
      title_(std::move(title)),
      engine_(std::move(engine)),
      context_(context),
      sampling_(resolve_sampling(settings_.sampling, *engine_, context)),
      interactive_(context.in_is_terminal && context.out.is_terminal()),
      conversation_(engine_->text()) {
  settings_.sampling.seed = sampling_.seed;  // /set may change other settings, not the seed
  conversation_.set_system(settings_.system);
  settings_.reasoning_budget = usable_reasoning_budget(*engine_, settings_.reasoning_budget, context_);
}

Result<int> ChatSession::loop() {
  TerminalStream::Wrapping wrapping(context_.out);
  if (interactive_) context_.out << escaped(title_) << ", /help for help, /bye leaves\n" << std::flush;
  MessageReader reader(make_line_reader(context_));
  bool interrupted_before = false;
  while (!leaves_) {
    wrapping.begin_text();
    const Message message = reader.read("> ");
    if (message.kind == Line::Kind::kEnd) return kDone;
    if (message.kind == Line::Kind::kInterrupted) {
      if (interrupted_before && message.text.empty()) return kDone;
      interrupted_before = message.text.empty();
      if (interrupted_before) context_.out << "(Ctrl-C again or Ctrl-D leaves)" << '\n' << std::flush;
      continue;
    }
    interrupted_before = false;
    const auto dropped = engine_->info().vision.sees() ? dropped_picture(message.text) : std::nullopt;
    if (dropped) {
      OCTAVO_TRY_VOID(show_picture(*dropped));
    } else if (message.is_command) {
      OCTAVO_TRY_VOID(take_command(message.text));
    } else if (!trimmed(message.text).empty()) {
      OCTAVO_TRY_VOID(answer(message.text));
    }
    if (!context_.out) return fail("cannot write to the standard output");
  }
  return kDone;
}

/// Takes a command. A line with an unknown command and more words is a message, unless the command looks like a
/// mistyped one.
Result<void> ChatSession::take_command(const std::string& line) {
  const std::size_t space = std::min(line.find_first_of(kBlanks), line.size());
  const std::string name = line.substr(0, space), argument(trimmed(std::string_view(line).substr(space)));
  const auto command = std::ranges::find(commands(), name, &Command::name);
  if (command == commands().end()) {
    std::vector<std::string> names;
    for (const Command& known : commands()) names.push_back(known.name);
    const auto is_slip = [&name](const std::string& known) { return edit_distance(name, known) == 1; };
    if (!argument.empty() && std::ranges::none_of(names, is_slip)) return answer(line);
    note("unknown command " + escaped(name) + did_you_mean(name, names) + "; /help lists the commands");
    return {};
  }
  if (!argument.empty() && !command->takes_argument) {
    note(fmt::format("{}: found '{}' behind it, expected nothing", name, escaped(argument)));
    return {};
  }
  return (this->*command->action)(argument);
}

/// Answers a message, or takes it back if there is no room for it.
Result<void> ChatSession::answer(const std::string& question) {
  conversation_.ask(question, std::exchange(pictures_, {}));
  num_regenerated_ = 0;
  return answer_last_turn();
}

/// The tokens that are left for an answer. Error: none are.
Result<int> ChatSession::room_for(std::size_t num_prompt_tokens) {
  const int context_size = engine_->info().max_context;
  if (num_prompt_tokens >= to_size(context_size))
    return fail(
        "no room: the conversation and this message have {} tokens, the context holds {}; /reset begins a new "
        "conversation",
        num_prompt_tokens, context_size);
  return context_size - static_cast<int>(num_prompt_tokens);
}

Result<void> ChatSession::answer_last_turn() {
  Result<ChatPrompt> prompt = conversation_.prompt();
  const Result<int> room = prompt ? room_for(prompt->tokens.size()) : std::unexpected(prompt.error());
  if (!room) {
    conversation_.drop_turn();
    note(room.error().message);
    return {};
  }
  Request request{.tokens = prompt->tokens,
                  .generation_prompt_tokens = prompt->generation_prompt_tokens,
                  .sampling = sampling_,
                  .stop = settings_.stop,
                  .logprobs = false,
                  .first_choice = num_regenerated_,
                  .pictures = prompt->pictures};
  if (!conversation_.turns().back().pictures.empty())
    for (const std::string& warning : prompt->warnings) note(warning);
  request.max_tokens = settings_.max_tokens == 0 ? 0 : std::min(settings_.max_tokens, *room);
  request.reasoning = {
      .mode = ReasoningMode::kSplit, .begins_inside = prompt->ends_in_reasoning, .budget = settings_.reasoning_budget};
  AnswerOutput output(context_.out, LineBreaks::kAtSpaces);
  OCTAVO_TRY(Answer answer, generate(
                                *engine_, std::move(request), [&](std::string_view text) { return output.write(text); },
                                [&](std::string_view text) { return output.write_reasoning(text); }));
  output.end_line();
  if (answer.finish == FinishReason::kContext || (answer.stats.generated_tokens >= *room && !answer.interrupted))
    note(fmt::format("the context of {} tokens is full; /reset begins a new conversation, /undo makes room",
                     engine_->info().max_context));
  context_.log->info("{}", speed_line(answer, engine_->info()));
  show_figures(answer);
  keep(std::move(answer), prompt->tokens);
  return {};
}

void ChatSession::keep(Answer answer, std::span<const TokenId> prompt) {
  last_ = answer.stats;
  if (answer.tokens.empty() && answer.interrupted) {
    conversation_.drop_turn();
    return say("nothing was written; the message is taken back");
  }
  auto tokens = tokens_of_text(*engine_->text(), prompt, answer, !settings_.stop.empty());
  conversation_.set_answer(std::move(answer.text), std::move(tokens), std::move(answer.reasoning));
}

void ChatSession::show_figures(const Answer& answer) {
  if (!interactive_) return;
  context_.out.steer(TerminalCommand::kDim);
  context_.out << '(' << figures_of(answer, engine_->info()) << ')';
  context_.out.steer(TerminalCommand::kPlain);
  context_.out << '\n' << std::flush;
}

Result<void> ChatSession::reset(const std::string&) {
  conversation_.replace_turns({});
  say("the conversation is forgotten");
  return {};
}

Result<void> ChatSession::change_system(const std::string& text) {
  if (text.empty()) {
    const std::string& now = conversation_.system();
    context_.out << (now.empty() ? "(no system message)" : now) << '\n' << std::flush;
    return {};
  }
  conversation_.set_system(text == "\"\"" ? std::string() : text);
  say(text == "\"\"" ? "no system message from here on" : "the system message of the whole conversation is changed");
  return {};
}

Result<void> ChatSession::regenerate(const std::string&) {
  if (conversation_.turns().empty()) {
    note("/regen: there is no message yet");
    return {};
  }
  conversation_.drop_answer();
  ++num_regenerated_;  // another choice of the same request: other draws with the same seed
  return answer_last_turn();
}

Result<void> ChatSession::undo(const std::string&) {
  if (conversation_.turns().empty()) {
    note("/undo: there is no message yet");
    return {};
  }
  const std::string question = conversation_.turns().back().question;
  conversation_.drop_turn();
  num_regenerated_ = 0;
  constexpr std::size_t kMaxShown = 60;
  say("taken back: " + escaped(question).substr(0, kMaxShown) + (question.size() > kMaxShown ? "..." : ""));
  return {};
}

Result<void> ChatSession::save(const std::string& path) {
  if (path.empty()) {
    note("/save: found no name of a file, expected one");
  } else if (const auto saved = save_conversation(path, conversation_, engine_->info().name); !saved) {
    note("/save: " + escaped(saved.error().message));
  } else {
    say(fmt::format("turns written to {}: {}", escaped(path), conversation_.turns().size()));
  }
  return {};
}

Result<void> ChatSession::load(const std::string& path) {
  if (path.empty()) {
    note("/load: found no name of a file, expected one");
    return {};
  }
  Result<SavedConversation> saved = load_conversation(path, *engine_->text());
  if (!saved) {
    note("/load: " + escaped(saved.error().message));
    return {};
  }
  conversation_.set_system(std::move(saved->system));
  conversation_.replace_turns(std::move(saved->turns));
  num_regenerated_ = 0;
  say(fmt::format("turns read from {}: {}", escaped(path), conversation_.turns().size()));
  return {};
}

Result<void> ChatSession::set(const std::string& argument) {
  const std::size_t space = std::min(argument.find_first_of(kBlanks), argument.size());
  const std::string name = argument.substr(0, space), value(trimmed(std::string_view(argument).substr(space)));
  if (value.empty()) {
    bool any = false;
    for (const auto& [known, now] : sampling_values(sampling_)) {
      if (!name.empty() && known != name) continue;
      context_.out << fmt::format("  {:<22} {}\n", known, now);
      any = true;
    }
    context_.out << std::flush;
    if (!any) note(fmt::format("/set: found '{}', expected the name of an option and its value", escaped(name)));
    return {};
  }
  if (const auto done = set_sampling(settings_.sampling, name, value); !done) {
    note("/set: " + done.error().message);
    return {};
  }
  sampling_ = resolve_sampling(settings_.sampling, *engine_, context_);
  return {};
}

Result<void> ChatSession::show_picture(const std::string& path) {
  Result<PictureInput> picture =
      path.empty() ? fail("found no name of a file, expected one") : read_picture(path, settings_.picture_bounds);
  if (const auto sees = check_sees(engine_->info(), "a picture"); !sees) picture = std::unexpected(sees.error());
  if (!picture) {
    note("/image: " + escaped(picture.error().message));
    return {};
  }
  pictures_.push_back(std::move(*picture));
  say(fmt::format("the next message shows {}{}", escaped(path),
                  pictures_.size() > 1 ? fmt::format(", and {} more", pictures_.size() - 1) : ""));
  return {};
}

Result<void> ChatSession::show_tokens(const std::string&) {
  const int context_size = engine_->info().max_context;
  const auto used = static_cast<int>(conversation_.num_tokens());
  context_.out << fmt::format("  {:<22} {} of {} tokens, room for {} more\n", "context", used, context_size,
                              std::max(0, context_size - used));
  if (last_.prompt_tokens > 0)
    context_.out << fmt::format("  {:<22} {} tokens, {} of them cached ({})\n  {:<22} {} tokens\n", "last prompt",
                                last_.prompt_tokens, last_.cached_tokens,
                                percent_of(last_.cached_tokens, last_.prompt_tokens), "last answer",
                                last_.generated_tokens);
  context_.out << std::flush;
  return {};
}

Result<void> ChatSession::help(const std::string&) {
  context_.out << chat_commands_help() << std::flush;
  return {};
}

Result<void> ChatSession::leave(const std::string&) {
  leaves_ = true;
  return {};
}

void ChatSession::say(const std::string& text) {
  if (interactive_) context_.out << '(' << text << ")\n" << std::flush;
}

void ChatSession::note(const std::string& text) { context_.err << "octavo: " << text << '\n' << std::flush; }

}  // namespace octavo::cli
