#include "template/builtins/text_operations.h"

#include <algorithm>
#include <utility>

#include "template/values/find_text.h"
#include "template/values/iteration.h"
#include "template/values/operators.h"
#include "template/values/python_text.h"

namespace octavo::jinja {

namespace {

std::size_t character_before(std::string_view bytes, std::size_t end) {
  do {
    --end;
  } while ((static_cast<unsigned char>(bytes[end]) & 0xC0U) == 0x80U);
  return end;
}

bool is_line_end(std::uint32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/// The parts of a text, each of which is counted.
class Parts {
 public:
  Parts(Evaluation& evaluation, const Text& text) : evaluation_(evaluation), text_(text) {}
  void add(std::size_t begin, std::size_t end) {
    evaluation_.step();
    evaluation_.arena().charge_bytes(sizeof(Value));
    parts_.push_back(Value::of(part_of(evaluation_.arena(), text_, begin, end)));
  }
  std::vector<Value> take() { return std::move(parts_); }
  std::vector<Value> take_reversed() {
    std::reverse(parts_.begin(), parts_.end());
    return std::move(parts_);
  }
  bool may_cut(std::int64_t most) const { return most < 0 || static_cast<std::int64_t>(parts_.size()) < most; }

 private:
  Evaluation& evaluation_;
  const Text& text_;
  std::vector<Value> parts_;
};

std::vector<Value> split_at_spaces(Evaluation& evaluation, const Text& text, std::int64_t most) {
  const std::string_view bytes = text.bytes;
  Parts parts(evaluation, text);
  std::size_t at = 0;
  const auto skip = [&](bool spaces) {
    while (at < bytes.size() && is_space(code_point_at(bytes, at)) == spaces) at += character_bytes(bytes[at]);
  };
  for (skip(true); at < bytes.size(); skip(true)) {
    const std::size_t begin = at;
    if (!parts.may_cut(most)) {
      at = bytes.size();
    } else {
      skip(false);
    }
    parts.add(begin, at);
  }
  return parts.take();
}

std::vector<Value> split_at_spaces_from_right(Evaluation& evaluation, const Text& text, std::int64_t most) {
  const std::string_view bytes = text.bytes;
  Parts parts(evaluation, text);
  std::size_t end = bytes.size();
  const auto skip = [&](bool spaces) {
    while (end > 0 && is_space(code_point_at(bytes, character_before(bytes, end))) == spaces)
      end = character_before(bytes, end);
  };
  for (skip(true); end > 0; skip(true)) {
    const std::size_t part_end = end;
    std::size_t begin = 0;
    if (parts.may_cut(most)) {
      skip(false);
      begin = end;
    } else {
      end = 0;
    }
    parts.add(begin, part_end);
  }
  return parts.take_reversed();
}

void require_separator(Evaluation& evaluation, const Text& separator) {
  if (separator.bytes.empty()) evaluation.fail("empty separator");
}

/// Where a text occurs in another one, from the left and without overlaps.
std::vector<std::size_t> places_of(Evaluation& evaluation, std::string_view text, std::string_view wanted,
                                   std::int64_t most) {
  std::vector<std::size_t> places;
  std::size_t at = 0;
  while (most < 0 || static_cast<std::int64_t>(places.size()) < most) {
    // Each search counts as many steps as it has read bytes, so that many short ones cost no more than one long one.
    at = find_text(text, wanted, at);
    if (at == std::string_view::npos) break;
    evaluation.step();
    evaluation.arena().charge_bytes(sizeof(std::size_t));
    places.push_back(at);
    at += wanted.size();
  }
  return places;
}

}  // namespace

const Text* strip(Evaluation& evaluation, const Text& text, const Text* characters, Side side) {
  evaluation.steps_for(text.bytes.size());
  const std::string_view bytes = text.bytes;
  std::size_t looked_at = 0;
  const auto is_stripped = [&](std::size_t at) {
    if (characters == nullptr) return is_space(code_point_at(bytes, at));
    looked_at += characters->bytes.size();
    if (looked_at > 4096) evaluation.steps_for(std::exchange(looked_at, 0));
    const std::string_view character = bytes.substr(at, character_bytes(bytes[at]));
    return characters->bytes.find(character) != std::string_view::npos;
  };
  std::size_t begin = 0, end = bytes.size();
  if (side != Side::kRight)
    while (begin < end && is_stripped(begin)) begin += character_bytes(bytes[begin]);
  if (side != Side::kLeft)
    while (begin < end && is_stripped(character_before(bytes, end))) end = character_before(bytes, end);
  return part_of(evaluation.arena(), text, begin, end);
}

const Text* replace(Evaluation& evaluation, const Text& text, const Text& old, const Text& replacement,
                    std::int64_t count) {
  evaluation.steps_for(text.bytes.size());
  TextBuilder out(evaluation.arena());
  std::size_t begun = 0;
  if (old.bytes.empty()) {  // it is before each character and at the end
    for (std::int64_t done = 0; count < 0 || done < count; ++done) {
      evaluation.step();
      out.append(replacement);
      if (begun == text.bytes.size()) break;
      const std::size_t next = begun + character_bytes(text.bytes[begun]);
      out.append_part(text, begun, next);
      begun = next;
    }
  } else {
    const auto places = places_of(evaluation, text.bytes, old.bytes, count);
    if (places.empty()) return &text;
    for (const std::size_t place : places) {
      out.append_part(text, begun, place);
      out.append(replacement);
      begun = place + old.bytes.size();
    }
  }
  out.append_part(text, begun, text.bytes.size());
  return with_markup(evaluation.arena(), *out.finish(), text.is_markup);
}

std::vector<Value> split(Evaluation& evaluation, const Text& text, const Text* separator, std::int64_t most) {
  evaluation.steps_for(text.bytes.size());
  if (separator == nullptr) return split_at_spaces(evaluation, text, most);
  require_separator(evaluation, *separator);
  Parts parts(evaluation, text);
  std::size_t begin = 0;
  for (const std::size_t place : places_of(evaluation, text.bytes, separator->bytes, most)) {
    parts.add(begin, place);
    begin = place + separator->bytes.size();
  }
  parts.add(begin, text.bytes.size());
  return parts.take();
}

std::vector<Value> split_from_right(Evaluation& evaluation, const Text& text, const Text* separator,
                                    std::int64_t most) {
  evaluation.steps_for(text.bytes.size());
  if (separator == nullptr) return split_at_spaces_from_right(evaluation, text, most);
  require_separator(evaluation, *separator);
  Parts parts(evaluation, text);
  const std::string_view bytes = text.bytes, wanted = separator->bytes;
  std::size_t end = bytes.size();
  while (parts.may_cut(most)) {
    if (end < wanted.size()) break;
    std::size_t at = end - wanted.size();
    std::size_t looked_at = 0;
    while (bytes.substr(at, wanted.size()) != wanted && at > 0) {
      --at;
      if (++looked_at % 64 == 0) evaluation.steps_for(64 * (16 + wanted.size()));
    }
    if (bytes.substr(at, wanted.size()) != wanted) break;
    parts.add(at + wanted.size(), end);
    end = at;
  }
  parts.add(0, end);
  return parts.take_reversed();
}

std::vector<Value> split_lines(Evaluation& evaluation, const Text& text, bool keep_ends) {
  evaluation.steps_for(text.bytes.size());
  const std::string_view bytes = text.bytes;
  Parts parts(evaluation, text);
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint32_t code_point = code_point_at(bytes, at);
    const std::size_t end = at;
    at += character_bytes(bytes[at]);
    if (!is_line_end(code_point)) continue;
    if (code_point == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    parts.add(begin, keep_ends ? at : end);
    begin = at;
  }
  if (begin < bytes.size()) parts.add(begin, bytes.size());
  return parts.take();
}

const Text* join(Evaluation& evaluation, const Text& separator, const Value& items, bool convert) {
  TextBuilder out(evaluation.arena());
  Iterator* iterator = iterate(evaluation, items);
  bool first = true;
  while (const auto item = next_of(evaluation, *iterator)) {
    if (!first) out.append(separator);
    first = false;
    if (!convert && !item->is(Kind::kText)) evaluation.fail("join() needs strings to join, found {}", type_name(*item));
    append_str(evaluation, out, *item);
  }
  return out.finish();
}

const Text* in_case(Evaluation& evaluation, const Text& text, Case wanted) {
  evaluation.steps_for(16 * text.bytes.size());
  TextBuilder out(evaluation.arena());
  append_in_case(out, text, 0, text.bytes.size(), wanted);
  return with_markup(evaluation.arena(), *out.finish(), text.is_markup);
}

const Text* capitalize(Evaluation& evaluation, const Text& text) {
  if (text.bytes.empty()) return &text;
  evaluation.steps_for(16 * text.bytes.size());
  TextBuilder out(evaluation.arena());
  const std::size_t first = character_bytes(text.bytes[0]);
  append_in_case(out, text, 0, first, Case::kTitle);
  append_in_case(out, text, first, text.bytes.size(), Case::kLower, true);
  return with_markup(evaluation.arena(), *out.finish(), text.is_markup);
}

}  // namespace octavo::jinja
