// A body of another API in the terms of OpenAI's. A value without behaviour.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

namespace octavo {

/// A body that parse_completion() or parse_chat_completion() takes, and what the client should be told.
struct CompletionBody {
  boost::json::object body = {};
  std::vector<std::string> warnings = {};
};

}  // namespace octavo
