// The parts of a conversation, whichever API they come by: a row for each kind says what becomes of it. An agent sends
// its whole history each time, so nothing that stands in it is refused for its kind: a model is told in a few words of
// what it cannot see. What the user gives in the newest message is another thing: it is refused, with what is missing.
// A model that sees gets the pictures of the whole history.
//
// A HistoryReader serves one body on one thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/call/api_error.h"
#include "api/call/picture_parts.h"
#include "json/json_cursor.h"
#include "octavo/chat.h"

namespace octavo {

/// The words for something that the model cannot see: "[an image that this model cannot see]". `name`: its own, if any.
std::string unseen(std::string_view what, std::string_view name = {});

/// The name of a tool whose call has none.
inline constexpr std::string_view kUnknownTool = "unknown";

/// A part of a content as a model has it.
struct ReadPart {
  enum class Kind : std::uint8_t { kNothing, kSaid, kThought, kPicture };
  Kind kind = Kind::kNothing;
  std::string text = {};
  FoundPicture picture = {};  // of a kPicture, not decoded
};

/// The sender of a message, as far as that decides whether it is the user's newest.
enum class Speaker : std::uint8_t { kUser, kTool, kModel, kAside };

/// The index of the user's newest message: the last one, but for messages of the system. The number of messages where
/// that is not a user's, or stands behind a result of a tool, whose picture clients send in a user's message.
std::size_t newest_of(std::span<const Speaker> speakers);

/// Arguments of a call as the JSON text that the model wrote. What is no text is written as JSON; nothing is "".
std::string arguments_text(const boost::json::value* given);

/// Appends a piece of reasoning as a paragraph of its own.
void add_thought(std::string_view thought, std::string& reasoning);

class HistoryReader {
 public:
  using Names = std::set<std::string, std::less<>>;

  /// Nested deeper, a part is only something that the model cannot see.
  static constexpr int kMaxDepth = 8;

  HistoryReader() = default;  // for a model that sees nothing
  explicit HistoryReader(PictureReader pictures) : pictures_(std::move(pictures)) {}

  /// Errors: fields of a wrong type; of what the user gives now also a part that is no text, nor a picture for a model
  /// that sees.
  ApiResult<ReadPart> read_part(const JsonCursor& part, bool is_newest);
  /// Puts a part behind the message's parts, or an assistant's thought behind its reasoning. Errors: those of
  /// PictureReader::decode().
  ApiResult<void> add(ReadPart part, ChatMessage& message);
  PictureReader& pictures() { return pictures_; }
  /// The texts in a value of another's form, such as a result of a tool that another server ran: a line for each.
  std::string texts_in(const boost::json::value& value);
  /// The note for something of an unknown kind, of which warnings() tell.
  std::string unknown(const JsonCursor& found);

  /// The names of tools that results have told.
  const Names& named_tools() const { return named_tools_; }
  /// Warnings for the client: of kinds that are unknown, where it names the first and counts the others, and of
  /// pictures that are not there (PictureReader::warning()).
  std::vector<std::string> warnings() const;

 private:
  PictureReader pictures_;
  Names named_tools_;
  std::string first_unknown_;  // its place, and what was found there
  std::size_t num_unknown_ = 0;
};

}  // namespace octavo
