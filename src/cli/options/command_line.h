// The table of the program's commands and options: their names, values and explanations. Each command adds to it
// (commands.h), the parser reads it (command_parser.h), and help is made from it (command_help.h). Owned by run_cli();
// one thread.
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

/// A row of a command's table: an option with a value, or a flag.
class Option {
 public:
  /// Takes a value as it was written, or returns what is wrong with it. A flag gets "true" or "false".
  using Take = std::function<Result<void>(const std::string& text)>;
  /// Returns what is wrong with a value; empty: nothing is.
  using Check = std::function<std::string(const std::string& text)>;

  /// `names` have commas between them, such as "-n,--max-tokens".
  Option(std::string_view names, Take take, std::string_view description);

  /// Sets the name of the value in help, such as FILE; an option without such a name is a flag.
  Option* type_name(std::string_view name);
  Option* check(Check check);
  /// Allows several values. Other options take one.
  Option* repeatable();
  Option* required();
  /// Allows the option in sections of a file of options that are about one model.
  Option* per_model();
  /// Marks an option that only a server reads: it is not about a model or its requests.
  Option* of_servers();
  Option* needs(const Option* other);
  Option* excludes(const Option* other);

  /// Adds a value from the arguments; take_given() checks it.
  void give(std::string text) { given_.push_back(std::move(text)); }
  /// Adds values from a file of options.
  void give_from_file(std::vector<std::string> texts);
  /// Checks and takes the given values. Error: a wrong value, or too many; it begins with the option's name.
  Result<void> take_given() const;
  /// Checks which options are given together. Errors: a required or needed one is missing; an excluded one is there.
  Result<void> check_company() const;

  std::size_t count() const { return given_.size(); }
  bool is_from_file() const { return from_file_; }
  bool is_flag() const { return type_.empty(); }
  bool is_repeatable() const { return repeatable_; }
  bool is_per_model() const { return per_model_; }
  bool is_of_servers() const { return of_servers_; }
  /// The first long name, such as "--max-tokens".
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

/// A command with its table. References in its functions must live until its action has run.
class Command {
 public:
  /// The options that help lists together.
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
  /// Adds an option that may be given several times.
  Option* add_option(std::string_view names, std::vector<std::string>& values, std::string_view description);
  Option* add_option_function(std::string_view names, Option::Take take, std::string_view description);
  Option* add_flag(std::string_view names, bool& value, std::string_view description);
  /// `on_given` is called if the flag is given, unless with "=false".
  Option* add_flag_callback(std::string_view names, std::function<void()> on_given, std::string_view description);

  /// Allows words besides options; help shows them as `shown`, such as "[MODEL.gguf] [PROMPT...]".
  void accept_words(std::string_view shown) { words_shown_ = shown; }
  /// Sets the text below the options.
  void footer(std::string_view text) { footer_ = text; }
  /// Adds a check of several options and words together, which is made once all are taken. An error is wrong usage.
  void on_parsed(std::function<Result<void>()> check) { checks_.push_back(std::move(check)); }
  /// Allows arguments of another program among the command's own: the function's result is read in their place. Error:
  /// wrong usage.
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
  /// Takes all values of the options, then makes the checks. Error: wrong usage.
  Result<void> take_given();
  /// Runs the action and gives its result; an exception becomes an error.
  Result<int> perform() const;

 private:
  std::string name_, summary_, words_shown_, footer_;
  std::deque<Option> options_;  // a deque, as addresses must stay the same
  std::vector<Group> groups_;
  std::size_t group_ = 0;
  std::vector<std::string> words_;
  std::vector<std::function<Result<void>()>> checks_;
  std::function<Result<std::vector<std::string>>(std::span<const std::string>)> rewrite_;
  Action action_;
};

/// The program: its commands, in the order of help.
class Program {
 public:
  Command& add_command(std::string_view name, std::string_view summary) {
    return commands_.emplace_back(name, summary);
  }
  std::deque<Command>& commands() { return commands_; }
  Command* find_command(std::string_view name);

 private:
  std::deque<Command> commands_;  // a deque, as addresses must stay the same
};

}  // namespace octavo::cli
