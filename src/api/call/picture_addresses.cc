#include "api/call/picture_addresses.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "base/text.h"
#include "tokenizer/json/base64.h"

namespace octavo {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 3> kSchemes = {"http:", "https:", "file:"};
constexpr std::array<std::string_view, 5> kTypes = {"image_url", "input_image", "image", "image_file",
                                                    "computer_screenshot"};
constexpr std::array<std::string_view, 3> kLists = {"images", "multimodal_data",
                                                    "image_data"};  // ollama's, llama.cpp's

json::string* text_at(json::object& object, std::string_view name) {
  json::value* member = object.if_contains(name);
  return member == nullptr ? nullptr : member->if_string();
}

bool is_picture(json::object& object) {
  const json::string* type = text_at(object, "type");
  return type != nullptr && std::ranges::find(kTypes, std::string_view(*type)) != kTypes.end();
}

/// The string that has a part's picture; null: there is none.
json::string* place_in(json::object& part) {
  if (json::value* source = part.if_contains("source"); source != nullptr && source->is_object())
    return text_at(source->get_object(), "url");
  for (const std::string_view name : {"image_url", "image", "source"}) {
    json::value* given = part.if_contains(name);
    if (given == nullptr || given->is_null()) continue;
    json::object* object = given->if_object();
    return object == nullptr ? given->if_string() : text_at(*object, "url");
  }
  return nullptr;
}

/// Whether an object has pictures as data beside its text.
bool has_data(const json::object& object) {
  return std::ranges::any_of(kLists, [&object](std::string_view name) {
    const json::value* list = object.if_contains(name);
    return list != nullptr && list->is_array() && !list->get_array().empty();
  });
}

/// Calls `use` with the text of each picture in `value`, or with null for a picture in another form. It nests as deep
/// as the body, which is bounded.
template <class Use>
void visit(json::value& value, const Use& use) {
  if (json::array* elements = value.if_array()) {
    for (json::value& element : *elements) visit(element, use);
    return;
  }
  json::object* object = value.if_object();
  if (object == nullptr) return;
  if (is_picture(*object)) return use(place_in(*object));
  if (has_data(*object)) use(nullptr);
  for (const std::string_view name : {"content", "output"})
    if (json::value* inner = object->if_contains(name)) visit(*inner, use);
}

template <class Use>
void visit_body(json::object& body, const Use& use) {
  if (has_data(body)) use(nullptr);
  for (const std::string_view name : {"system", "messages", "input", "prompt", "content"})
    if (json::value* value = body.if_contains(name)) visit(*value, use);
}

}  // namespace

bool is_picture_address(std::string_view text) {
  return std::ranges::any_of(
      kSchemes, [text](std::string_view scheme) { return lower_case(text.substr(0, scheme.size())) == scheme; });
}

BodyPictures find_pictures(json::object& body) {
  BodyPictures found;
  std::map<std::string_view, std::size_t> places;
  visit_body(body, [&](const json::string* text) {
    found.has_any = true;
    if (text == nullptr || !is_picture_address(*text)) return;
    const auto [place, is_new] = places.try_emplace(std::string_view(*text), found.addresses.size());
    if (is_new) {
      found.addresses.push_back({.address = std::string(*text)});
    } else {
      ++found.addresses[place->second].count;
    }
  });
  return found;
}

UnfetchedPictures put_pictures(json::object& body, const FetchedPictures& fetched) {
  UnfetchedPictures unfetched;
  for (const auto& [address, picture] : fetched)
    if (!picture) unfetched.emplace(address, picture.error());
  visit_body(body, [&](json::string* address) {
    const auto found = address == nullptr ? fetched.end() : fetched.find(std::string_view(*address));
    if (found == fetched.end() || !found->second) return;
    *address = fmt::format("data:{};base64,{}", found->second->media_type, encode_base64(found->second->bytes));
  });
  return unfetched;
}

}  // namespace octavo
