#include "cli/serve/serve_pictures.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/options.h"
#include "cli/serve/media_folder.h"
#include "http/fetch_hosts.h"
#include "hub/guarded_fetch.h"
#include "vision/picture.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kFile = "file:";

std::string_view media_type_of(PictureFormat format) {
  switch (format) {
    case PictureFormat::kJpeg: return "image/jpeg";
    case PictureFormat::kPng: return "image/png";
    case PictureFormat::kWebp: return "image/webp";
    case PictureFormat::kGif: break;
  }
  return "image/gif";
}

bool is_file(std::string_view address) { return lower_case(address.substr(0, kFile.size())) == kFile; }

/// The system's address to which a connection is about to be made.
Address address_of(std::span<const unsigned char> bytes) {
  if (bytes.size() == 4)
    return boost::asio::ip::make_address_v4(
        boost::asio::ip::address_v4::bytes_type{bytes[0], bytes[1], bytes[2], bytes[3]});
  boost::asio::ip::address_v6::bytes_type whole{};
  std::ranges::copy(bytes, whole.begin());
  return boost::asio::ip::make_address_v6(whole);
}

/// Where pictures may come from.
struct Sources {
  std::optional<FetchHosts> hosts = {};
  std::optional<MediaFolder> folder = {};
  hub::CaBundle ca_bundle = {};
  PictureBounds bounds = {};
};

/// The bytes that were fetched, if they are a picture: only the header is read.
Result<FetchedPicture> checked(Result<std::string> bytes, std::string_view address, const PictureBounds& bounds) {
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  const auto header = read_picture_header(std::as_bytes(std::span(*bytes)),
                                          {.bytes = bounds.bytes, .pixels = static_cast<std::int64_t>(bounds.pixels)});
  if (!header)
    return std::unexpected(Error{.message = fmt::format("found at {}: {}", quote(address), header.error().message),
                                 .kind = header.error().kind});
  return FetchedPicture{.bytes = std::move(*bytes), .media_type = media_type_of(header->format)};
}

/// Reads the files among the addresses into `fetched`; each counts as often as a body has it.
void read_files(const Sources& sources, std::span<const PictureAddress> addresses, std::uint64_t& left,
                std::vector<Result<std::string>>& results) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const PictureAddress& asked = addresses[i];
    if (!is_file(asked.address)) continue;
    if (!sources.folder) {
      results[i] =
          fail("found the address {}, expected none of a file: this server has no --media-path", quote(asked.address));
      continue;
    }
    const auto count = static_cast<std::uint64_t>(asked.count);
    results[i] = sources.folder->read(asked.address, std::min(sources.bounds.bytes, left / count));
    if (results[i]) left -= count * results[i]->size();
  }
}

/// Gets the web addresses in the same way.
void get_pages(const Sources& sources, std::span<const PictureAddress> addresses, std::uint64_t left,
               const std::stop_token& stop, std::vector<Result<std::string>>& results) {
  std::vector<hub::FetchAsk> asks;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (is_file(addresses[i].address)) continue;
    asks.push_back({.url = addresses[i].address, .count = addresses[i].count});
    places.push_back(i);
    if (!sources.hosts)
      results[i] = fail("found the address {}, expected none of another host: this server has no --image-urls",
                        quote(addresses[i].address));
  }
  if (!sources.hosts || asks.empty()) return;
  const FetchHosts& hosts = *sources.hosts;
  const hub::FetchRules rules{
      .ca_bundle = sources.ca_bundle,
      .allows_host = [&hosts](const std::string& host, std::uint16_t port) { return hosts.allows_host(host, port); },
      .allows_address = [&hosts](std::span<const unsigned char> address,
                                 std::uint16_t port) { return hosts.allows_address(address_of(address), port); },
      .option = "--image-urls",
      .bytes = sources.bounds.bytes,
      .all_bytes = left};
  auto pages = hub::fetch_guarded(rules, asks, stop);
  for (std::size_t i = 0; i < pages.size(); ++i) results[places[i]] = std::move(pages[i]);
}

std::vector<Result<FetchedPicture>> fetch(const Sources& sources, std::span<const PictureAddress> addresses,
                                          std::uint64_t most_bytes, const std::stop_token& stop) {
  std::vector<Result<std::string>> bytes(addresses.size());
  std::uint64_t left = most_bytes;
  read_files(sources, addresses, left, bytes);
  get_pages(sources, addresses, left, stop, bytes);
  std::vector<Result<FetchedPicture>> pictures;
  pictures.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    pictures.push_back(checked(std::move(bytes[i]), addresses[i].address, sources.bounds));
  return pictures;
}

}  // namespace

void add_picture_source_options(Command& command, server::ServerOptions& server, Context& context) {
  const auto sources = std::make_shared<Sources>();
  add_parsed(
      command, "--image-urls", "HOSTS", [](const std::string& text) { return FetchHosts::parse(text); },
      [sources](FetchHosts hosts) { sources->hosts = std::move(hosts); },
      "Pictures may be fetched by http and https from these hosts, between commas: HOST or HOST:PORT; public: every "
      "one. An address that is not public must be named, by itself or in a network, such as 10.0.0.0/8; default: none")
      ->of_servers();
  add_parsed(
      command, "--media-path", "DIR", [](const std::string& text) { return MediaFolder::open(text); },
      [sources](MediaFolder folder) { sources->folder.emplace(std::move(folder)); },
      "Pictures may be files in this folder, by file: addresses; default: none")
      ->of_servers();
  command.on_parsed([sources, &server, &context]() -> Result<void> {
    if (!sources->hosts && !sources->folder) return {};
    sources->ca_bundle = context.hub.ca_bundle;
    sources->bounds = server.engine.picture_bounds;
    server.pictures.fetch = [sources](std::span<const PictureAddress> addresses, std::uint64_t most_bytes,
                                      const std::stop_token& stop) {
      return fetch(*sources, addresses, most_bytes, stop);
    };
    return {};
  });
}

}  // namespace octavo::cli
