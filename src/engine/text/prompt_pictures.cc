#include "engine/text/prompt_pictures.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "tokenizer/text_encoder.h"
#include "vision/resize.h"

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kLookAgain(20);  // how often to look whether the work is to stop

std::span<const std::byte> bytes_of(const PictureInput& input) { return std::as_bytes(std::span(*input.bytes)); }

std::string size_text(PictureSize size) { return fmt::format("{} x {}", size.width, size.height); }

/// An error of a picture, with the picture's place in front.
std::unexpected<Error> at_place(std::string_view place, const Error& error) {
  return std::unexpected(Error{.message = fmt::format("{}: {}", place, error.message), .kind = error.kind});
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  }
  /// Hashes bytes with their length before them, so that two texts never look like a third.
  void add(std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    update(std::as_bytes(std::span(&size, 1)));
    update(bytes);
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  std::array<std::uint8_t, 32> digest() {
    std::array<std::uint8_t, 32> made = {};
    OCTAVO_CHECK(EVP_DigestFinal_ex(context_.get(), made.data(), nullptr) == 1, "a digest without an end");
    return made;
  }

 private:
  void update(std::span<const std::byte> bytes) {
    OCTAVO_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "{} bytes", bytes.size());
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

Result<std::vector<PromptPictures::Measured>> PromptPictures::measure(
    std::span<const PictureInput* const> pictures) const {
  if (std::cmp_greater(pictures.size(), rules_.bounds.pictures))
    return fail_as(ErrorKind::kPictureTooLarge, "found {} pictures, expected at most {} in a prompt", pictures.size(),
                   rules_.bounds.pictures);
  std::vector<Measured> measured;
  for (const PictureInput* picture : pictures) {
    std::string place = picture->place;
    if (place.empty()) place = fmt::format("picture {}", measured.size() + 1);
    OCTAVO_TRY(measured.emplace_back(), measure_one(*picture, std::move(place)));
  }
  return measured;
}

Result<PromptPictures::Measured> PromptPictures::measure_one(const PictureInput& input, std::string place) const {
  if (input.bytes == nullptr)
    return fail_as(ErrorKind::kInvalidPicture, "{}: found no bytes, expected a picture", place);
  const PictureLimits limits{.bytes = rules_.bounds.bytes, .pixels = static_cast<std::int64_t>(rules_.bounds.pixels)};
  const Result<PictureHeader> header = read_picture_header(bytes_of(input), limits);
  if (!header) return at_place(place, header.error());
  const int max = input.max_tokens > 0 ? input.max_tokens : rules_.max_tokens;
  const int min = input.min_tokens > 0 ? input.min_tokens : std::min(rules_.min_tokens, max);
  const TokenRange tokens{.min = min, .max = std::min(max, rules_.family->most_tokens)};
  const PictureLayout layout = rules_.family->layout(header->size, rules_.geometry, tokens);
  OCTAVO_CHECK(layout.tiles.size() == 1, "{} tiles", layout.tiles.size());
  return Measured{.input = &input, .place = std::move(place), .header = *header, .tile = layout.tiles.front()};
}

Result<void> PromptPictures::expand(std::span<const Measured> pictures, std::size_t max_tokens,
                                    ChatPrompt& prompt) const {
  const auto places = to_size(std::ranges::count(prompt.tokens, rules_.placeholder));
  if (places != pictures.size())
    return fail("found {} pictures, but the prompt has places for {}", pictures.size(), places);
  std::size_t size = prompt.tokens.size();
  for (const Measured& measured : pictures) size += to_size(measured.tile.num_tokens()) - 1;
  if (max_tokens != 0 && size > max_tokens) return too_many_tokens(max_tokens);
  std::vector<TokenId> tokens;
  tokens.reserve(size);
  auto next = pictures.begin();
  for (const TokenId token : prompt.tokens) {
    if (token != rules_.placeholder) {
      tokens.push_back(token);
      continue;
    }
    const int count = next->tile.num_tokens();
    prompt.pictures.push_back({.first = static_cast<std::int32_t>(tokens.size()), .count = count});
    tokens.insert(tokens.end(), to_size(count), rules_.placeholder);
    const PictureSize was = next->header.size, is = next->tile.size;
    if (2 * is.width < was.width || 2 * is.height < was.height)
      prompt.warnings.push_back(fmt::format("{}: the picture of {} pixels was made {}, which is {} tokens", next->place,
                                            size_text(was), size_text(is), count));
    ++next;
  }
  prompt.tokens = std::move(tokens);
  return {};
}

Result<void> PromptPictures::decode(std::span<const Measured> pictures, RequestWork* work, ChatPrompt& prompt) const {
  std::map<std::array<std::uint8_t, 32>, std::shared_ptr<const PreparedPicture>> known;  // the pictures of this prompt
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const Measured& measured = pictures[i];
    std::shared_ptr<const PreparedPicture>& prepared = known[digest_of(measured)];
    if (prepared == nullptr) {
      {
        std::unique_lock lock(mutex_);
        while (decode_bytes_ > 0 && decode_bytes_ + measured.header.decode_bytes > kMostDecodeBytes) {
          if (work != nullptr && work->is_stopped()) return std::unexpected(work->stopped());
          has_room_.wait_for(lock, kLookAgain);
        }
        decode_bytes_ += measured.header.decode_bytes;
      }
      Result<std::shared_ptr<const PreparedPicture>> made = prepare(measured);
      {
        const std::lock_guard lock(mutex_);
        decode_bytes_ -= measured.header.decode_bytes;
      }
      has_room_.notify_all();
      if (!made) return at_place(measured.place, made.error());
      prepared = std::move(*made);
    }
    prompt.pictures[i].picture = prepared;
    if (work != nullptr && work->is_stopped()) return std::unexpected(work->stopped());
  }
  return {};
}

Result<std::shared_ptr<const PreparedPicture>> PromptPictures::prepare(const Measured& measured) const try {
  OCTAVO_TRY(const Picture picture,
             decode_picture(bytes_of(*measured.input),
                            {.bytes = rules_.bounds.bytes, .pixels = static_cast<std::int64_t>(rules_.bounds.pixels)}));
  return std::make_shared<const PreparedPicture>(
      PreparedPicture{.pixels = resize(picture, measured.tile.size, rules_.family->filter),
                      .rows = measured.tile.rows,
                      .columns = measured.tile.columns,
                      .digest = digest_of(measured)});
} catch (const std::bad_alloc&) {
  return fail_as(ErrorKind::kOutOfMemory, "the system has no memory to decode {}", size_text(measured.header.size));
}

std::array<std::uint8_t, 32> PromptPictures::digest_of(const Measured& measured) const {
  Sha256 hash;
  hash.add(rules_.family->name);
  hash.add(rules_.encoder_hash);
  hash.add(size_text(measured.tile.size));
  hash.add(bytes_of(*measured.input));
  return hash.digest();
}

}  // namespace octavo
