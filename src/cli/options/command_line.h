// The table of the program's commands and options: their names, values and explanations. Each command fills it in
// (commands.h), the parser reads it (command_parser.h), and help is written from it (command_help.h). Owned by
// run_cli(); one thread.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/terminal/context.h"

namespace octavo::cli {

/// One row of a command's table: an option that takes a value, or a flag.
class Option {
 public:
  /// Takes a value as it was written, or says what is wrong with it. A flag is given "true" or "false".
  using Take = std::function<Result<void>(const std::string& text)>;
  /// Says what is wrong with a value; empty: nothing.
  using Check = std::function<std::string(const std::string& text)>;

  /// `names`: separated by commas, such as "-n,--max-tokens".
  Option(std::string_view names, Take take, std::string_view description);

  /// The name of the value in help, such as FILE; an option without such a name is a flag.
  Option* type_name(std::string_view name);
  Option* check(Check check);
  /// May be given several times. Other options are given once.
  Option* repeatable();
  Option* required();
  /// A section of a file of options that is about one model may have it too.
  Option* per_model();
  /// Only a server reads it: it says nothing of a model or its requests.
  Option* of_servers();
  Option* needs(const Option* other);
  Option* excludes(const Option* other);

  /// A value from the arguments; it is looked at by take_given().
  void give(std::string text) { given_.push_back(std::move(text)); }
  /// Values from a file of options.
  void give_from_file(std::vector<std::string> texts);
  /// Checks and takes what was given. Error: a wrong value, or too many; begins with the option's name.
  Result<void> take_given() const;
  /// Error: an option is missing that is required or needed, or one is there that is excluded.
  Result<void> check_company() const;

  std::size_t count() const { return given_.size(); }
  bool is_from_file() const { return from_file_; }
  bool is_flag() const { return type_.empty(); }
  bool is_repeatable() const { return repeatable_; }
  bool is_per_model() const { return per_model_; }
  bool is_of_servers() const { return of_servers_; }
  /// The first long name: "--max-tokens".
  const std::string& name() const;
  bool has_name(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }
  const std::string& type() const { return type_; }
  const std::string& description() const { return description_; }

 private:
  std::vector<std::string> names_;
  std::string type_;
  std::string description_;
  Take take_;
  Check check_;
  bool repeatable_ = false;
  bool required_ = false;
  bool per_model_ = false;
  bool of_servers_ = false;
  bool from_file_ = false;
  std::vector<const Option*> needs_, excludes_;
  std::vector<std::string> given_;
};

/// A command with its table. References that are given to its functions must live until its action has run.
class Command {
 public:
  /// Options that help lists together.
  struct Group {
    std::string title;
    std::vector<const Option*> options = {};
  };

  Command(std::string_view name, std::string_view summary) : name_(name), summary_(summary) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Options that are added from here on belong to the group with this title.
  void group(std::string_view title);
  Option* add_option(std::string_view names, std::string& value, std::string_view description);
  /// One that may be given several times.
  Option* add_option(std::string_view names, std::vector<std::string>& values, std::string_view description);
  Option* add_option_function(std::string_view names, Option::Take take, std::string_view description);
  Option* add_flag(std::string_view names, bool& value, std::string_view description);
  /// `on_given` is called if the flag is given, and not with "=false".
  Option* add_flag_callback(std::string_view names, std::function<void()> on_given, std::string_view description);

  /// Lets words stand beside the options; help shows them as `shown`, such as "[MODEL.gguf] [PROMPT...]".
  void accept_words(std::string_view shown) { words_shown_ = shown; }
  /// Text below the options.
  void footer(std::string_view text) { footer_ = text; }
  /// Adds a look at what several options and the words say together, once all are taken. An error is wrong usage.
  void on_parsed(std::function<Result<void>()> check) { checks_.push_back(std::move(check)); }
  /// Lets others' arguments stand among the command's own: what it gives is read in their place. Error: wrong usage.
  void rewrite(std::function<Result<std::vector<std::string>>(std::span<const std::string>)> arguments) {
    rewrite_ = std::move(arguments);
  }
  /// Sets what the command does.
  void action(Action action) { action_ = std::move(action); }

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::string& words_shown() const { return words_shown_; }
  const std::string& footer() const { return footer_; }
  const std::vector<Group>& groups() const { return groups_; }
  std::deque<Option>& options() { return options_; }
  Option* find_option(std::string_view name);
  std::vector<std::string> option_names() const;
  std::vector<std::string>& words() { return words_; }
  Result<std::vector<std::string>> rewritten(std::span<const std::string> args) const;
  /// Takes all that was given to the options, then makes the checks. Error: wrong usage.
  Result<void> take_given();
  /// The result of the action; an exception is an error.
  Result<int> perform() const;

 private:
  std::string name_, summary_, words_shown_, footer_;
  std::deque<Option> options_;  // their addresses stay
  std::vector<Group> groups_;
  std::size_t group_ = 0;
  std::vector<std::string> words_;
  std::vector<std::function<Result<void>()>> checks_;
  std::function<Result<std::vector<std::string>>(std::span<const std::string>)> rewrite_;
  Action action_;
};

/// The program: its commands, in the order in which help lists them.
class Program {
 public:
  Command& add_command(std::string_view name, std::string_view summary) {
    return commands_.emplace_back(name, summary);
  }
  std::deque<Command>& commands() { return commands_; }
  Command* find_command(std::string_view name);

 private:
  std::deque<Command> commands_;  // their addresses stay
};

}  // namespace octavo::cli
