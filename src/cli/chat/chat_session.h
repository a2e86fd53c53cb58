// `octavo chat` once the model is loaded: it answers messages, and performs lines that begin with / as commands. The
// main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/chat/conversation.h"
#include "cli/generate.h"
#include "cli/options/sampling_options.h"
#include "cli/terminal/context.h"

namespace octavo::cli {

struct ChatSettings {
  SamplingFlags sampling = {};
  std::string system = {};
  std::vector<std::string> stop = {};
  int max_tokens = 0;         // the most of an answer; 0: until the model ends it or the context is full
  int reasoning_budget = -1;  // the most of an answer's reasoning; -1: any number
  PictureBounds picture_bounds = {};
};

/// The commands, one line each, for help.
std::string chat_commands_help();

class ChatSession {
 public:
  /// `title`: the model's name in the greeting.
  ChatSession(ChatSettings settings, std::string title, std::unique_ptr<Engine> engine, Context& context);

  /// Reads and answers until the input ends or a command leaves; gives the exit code. Errors: the output is closed; no
  /// memory.
  Result<int> loop();

 private:
  struct Command;
  static const std::vector<Command>& commands();
  friend std::string chat_commands_help();

  Result<void> take_command(const std::string& line);
  Result<void> answer(const std::string& question);
  Result<void> answer_last_turn();
  Result<int> room_for(std::size_t num_prompt_tokens);
  void keep(Answer answer, std::span<const TokenId> prompt);
  void show_figures(const Answer& answer);

  Result<void> reset(const std::string& argument);
  Result<void> change_system(const std::string& text);
  Result<void> regenerate(const std::string& argument);
  Result<void> undo(const std::string& argument);
  Result<void> save(const std::string& path);
  Result<void> load(const std::string& path);
  Result<void> set(const std::string& argument);
  Result<void> show_picture(const std::string& path);
  Result<void> show_tokens(const std::string& argument);
  Result<void> help(const std::string& argument);
  Result<void> leave(const std::string& argument);

  /// Prints what happened, for a person at a terminal.
  void say(const std::string& text);
  /// Prints what is wrong, to standard error.
  void note(const std::string& text);

  ChatSettings settings_;
  const std::string title_;
  const std::unique_ptr<Engine> engine_;
  Context& context_;
  SamplingParams sampling_;
  const bool interactive_;
  Conversation conversation_;
  std::vector<PictureInput> pictures_ = {};  // for the next message
  std::uint32_t num_regenerated_ = 0;        // how many answers to the last question came before this one
  RequestStats last_;                        // the last answer's
  bool leaves_ = false;
};

}  // namespace octavo::cli
