#include "cli/options/command_line.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <optional>

#include "base/to_size.h"

namespace octavo::cli {
namespace {

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "true" || text == "on" || text == "yes" || text == "1") return true;
  if (text == "false" || text == "off" || text == "no" || text == "0") return false;
  return std::nullopt;
}

/// The function for a flag: `set` gets whether it is on or off.
Option::Take take_switch(std::function<void(bool)> set) {
  return [set = std::move(set)](const std::string& text) -> Result<void> {
    const auto on = parse_switch(text);
    if (!on) return fail("found '{}', expected true or false", text);
    set(*on);
    return {};
  };
}

}  // namespace

Option::Option(std::string_view names, Take take, std::string_view description)
    : description_(description), take_(std::move(take)) {
  while (true) {
    const std::size_t comma = std::min(names.find(','), names.size());
    names_.emplace_back(names.substr(0, comma));
    if (comma == names.size()) return;
    names.remove_prefix(comma + 1);
  }
}

Option* Option::type_name(std::string_view name) {
  type_ = name;
  return this;
}

Option* Option::check(Check check) {
  check_ = std::move(check);
  return this;
}

Option* Option::repeatable() {
  repeatable_ = true;
  return this;
}

Option* Option::required() {
  required_ = true;
  return this;
}

Option* Option::per_model() {
  per_model_ = true;
  return this;
}

Option* Option::of_servers() {
  of_servers_ = true;
  return this;
}

Option* Option::needs(const Option* other) {
  needs_.push_back(other);
  return this;
}

Option* Option::excludes(const Option* other) {
  excludes_.push_back(other);
  return this;
}

void Option::give_from_file(std::vector<std::string> texts) {
  given_ = std::move(texts);
  from_file_ = true;
}

Result<void> Option::take_given() const {
  if (!repeatable_ && !is_flag() && given_.size() > 1)
    return fail("{}: found {} values, expected one", name(), given_.size());
  for (const std::string& text : given_) {
    if (check_) {
      if (const std::string wrong = check_(text); !wrong.empty()) return fail("{}: {}", name(), wrong);
    }
    if (const auto taken = take_(text); !taken) return fail("{}: {}", name(), taken.error().message);
  }
  return {};
}

Result<void> Option::check_company() const {
  if (required_ && given_.empty()) return fail("{} {} is missing", name(), type_);
  if (given_.empty()) return {};
  for (const Option* other : needs_)
    if (other->count() == 0) return fail("{} needs {}", name(), other->name());
  for (const Option* other : excludes_)
    if (other->count() > 0) return fail("{} and {} exclude each other", name(), other->name());
  return {};
}

const std::string& Option::name() const {
  const auto first_long = std::ranges::find_if(names_, [](const auto& name) { return name.starts_with("--"); });
  return first_long == names_.end() ? names_.front() : *first_long;
}

bool Option::has_name(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }

void Command::group(std::string_view title) {
  const auto same = std::ranges::find(groups_, title, &Group::title);
  group_ = to_size(same - groups_.begin());
  if (same == groups_.end()) groups_.push_back({.title = std::string(title)});
}

Option* Command::add_option_function(std::string_view names, Option::Take take, std::string_view description) {
  if (groups_.empty()) group("Options");
  Option* option = &options_.emplace_back(names, std::move(take), description);
  groups_[group_].options.push_back(option);
  return option->type_name("TEXT");
}

Option* Command::add_option(std::string_view names, std::string& value, std::string_view description) {
  const auto take = [&value](const std::string& text) -> Result<void> {
    value = text;
    return {};
  };
  return add_option_function(names, take, description);
}

Option* Command::add_option(std::string_view names, std::vector<std::string>& values, std::string_view description) {
  const auto take = [&values](const std::string& text) -> Result<void> {
    values.push_back(text);
    return {};
  };
  return add_option_function(names, take, description)->repeatable();
}

Option* Command::add_flag(std::string_view names, bool& value, std::string_view description) {
  return add_option_function(names, take_switch([&value](bool on) { value = on; }), description)->type_name("");
}

Option* Command::add_flag_callback(std::string_view names, std::function<void()> on_given,
                                   std::string_view description) {
  const auto set = [on_given = std::move(on_given)](bool on) {
    if (on) on_given();
  };
  return add_option_function(names, take_switch(set), description)->type_name("");
}

Option* Command::find_option(std::string_view name) {
  const auto found = std::ranges::find_if(options_, [name](const Option& option) { return option.has_name(name); });
  return found == options_.end() ? nullptr : &*found;
}

std::vector<std::string> Command::option_names() const {
  std::vector<std::string> all;
  for (const Option& option : options_) std::ranges::copy(option.names(), std::back_inserter(all));
  return all;
}

Result<std::vector<std::string>> Command::rewritten(std::span<const std::string> args) const {
  return rewrite_ ? rewrite_(args) : std::vector<std::string>(args.begin(), args.end());
}

Result<void> Command::take_given() {
  for (const Option& option : options_) OCTAVO_TRY_VOID(option.take_given());
  for (const Option& option : options_) OCTAVO_TRY_VOID(option.check_company());
  for (const auto& check : checks_) OCTAVO_TRY_VOID(check());
  return {};
}

Result<int> Command::perform() const {
  try {
    return action_();
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::exception& error) {
    return fail("{}", error.what());
  }
}

Command* Program::find_command(std::string_view name) {
  const auto found = std::ranges::find_if(commands_, [name](const Command& c) { return c.name() == name; });
  return found == commands_.end() ? nullptr : &*found;
}

}  // namespace octavo::cli
