#include "api/fields/image_placeholder.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

namespace octavo {
namespace {

namespace json = boost::json;

/// The types of images in OpenAI's chats and responses, and in Anthropic's messages.
constexpr std::array<std::string_view, 3> kImageTypes = {"image_url", "input_image", "image"};

bool is_image(const json::object& part) {
  const json::value* type = part.if_contains("type");
  return type != nullptr && type->is_string() &&
         std::ranges::find(kImageTypes, std::string_view(type->get_string())) != kImageTypes.end();
}

/// Replaces ollama's images, which stand beside a text. `name`: the text's member.
std::size_t replace_beside(json::object& object, std::string_view name, std::string_view placeholder) {
  const json::value* images = object.if_contains("images");
  if (images == nullptr || !images->is_array()) return 0;
  const std::size_t count = images->get_array().size();
  json::value& text = object[name];
  if (!text.is_string()) text = "";
  json::string& content = text.get_string();
  for (std::size_t i = 0; i < count; ++i) {
    if (!content.empty()) content += '\n';
    content += placeholder;
  }
  object.erase("images");
  return count;
}

/// Replaces images in an array of messages, items or parts. It nests as deep as the body, which is bounded.
std::size_t replace_in(json::value& value, std::string_view placeholder) {
  json::array* elements = value.if_array();
  if (elements == nullptr) return 0;
  std::size_t count = 0;
  for (json::value& element : *elements) {
    json::object* object = element.if_object();
    if (object == nullptr) continue;
    if (is_image(*object)) {
      element = json::object{{"type", "text"}, {"text", placeholder}};
      ++count;
      continue;
    }
    count += replace_beside(*object, "content", placeholder);
    for (const std::string_view name : {"content", "output"})
      if (json::value* inner = object->if_contains(name)) count += replace_in(*inner, placeholder);
  }
  return count;
}

}  // namespace

std::size_t replace_images(json::object& body, std::string_view placeholder) {
  std::size_t count = replace_beside(body, "prompt", placeholder);
  for (const std::string_view name : {"messages", "input"})
    if (json::value* value = body.if_contains(name)) count += replace_in(*value, placeholder);
  return count;
}

}  // namespace octavo
