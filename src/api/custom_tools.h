// Tools that a client knows in other forms than models do, to which all are functions: OpenAI's custom tools, whose
// calls have a text in place of arguments, and tools of a namespace.
//
// Free functions without state, and immutable values; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"

namespace octavo {

/// A tool as its client knows it.
struct ClientTool {
  std::string name = {};
  std::string space = {};  // its namespace; empty: none
  bool is_custom = false;
};

/// By the names of the functions that stand for them. Plain functions are not among them.
using ClientTools = std::map<std::string, ClientTool, std::less<>>;

/// The parameter of the function that stands for a custom tool.
inline constexpr std::string_view kCustomInput = "input";

/// Whether a tool, a choice of one or a call says that it is of the type `custom`.
bool is_custom_form(const boost::json::value& value);

/// The function's arguments for an input, in JSON.
std::string arguments_of_input(std::string_view input);

/// The name of the function that stands for a tool of a namespace: "space__name".
std::string qualified_name(std::string_view space, std::string_view name);

/// The function, in the form of a chat's tools, that stands for a custom tool with `name`, `description` and `format`:
/// of chats, where a grammar is an object, or of responses, where it is not. Inputs of a regular expression are held to
/// it; a grammar in Lark is shown to the model alone, and a warning says so. `place` stands before the names in errors.
ApiResult<boost::json::object> function_of_custom(const boost::json::object& custom, const std::string& place,
                                                  std::vector<std::string>& warnings);

/// A chat's body whose tools are functions, and so is the tool that must be called: there are no custom tools in it,
/// and no functions in OpenAI's first form. Refers to the body that it is made of, which outlives it.
class FunctionBody {
 public:
  /// Copies the body only if it has one of these. Errors: one of a wrong form; two tools of one name.
  static ApiResult<FunctionBody> of(const boost::json::object& body);

  const boost::json::object& body() const { return own_ ? *own_ : *given_; }
  ClientTools take_tools() { return std::move(tools_); }
  /// The client knows its tools in the first form.
  bool is_of_functions() const { return is_of_functions_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  explicit FunctionBody(const boost::json::object& given) : given_(&given) {}

  ApiResult<void> change_tools(boost::json::array& tools);

  const boost::json::object* given_;
  std::optional<boost::json::object> own_ = {};
  ClientTools tools_ = {};
  bool is_of_functions_ = false;
  std::vector<std::string> warnings_ = {};
};

}  // namespace octavo
