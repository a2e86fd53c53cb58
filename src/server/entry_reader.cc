#include "server/entry_reader.h"

#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

namespace octavo::server {

EntryReader::EntryReader(boost::asio::io_context& io, ReadEntries read, Take take)
    : io_(io), read_(std::move(read)), take_(std::move(take)) {}

void EntryReader::read() {
  if (!read_) return;
  if (is_reading_) {
    is_asked_again_ = true;
    return;
  }
  is_reading_ = true;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void EntryReader::run(const std::stop_token& stop) {
  auto entries = std::make_shared<Result<std::vector<ModelEntry>>>(read_(stop));
  boost::asio::post(io_, [this, entries] {
    thread_.join();
    is_reading_ = false;
    take_(std::move(*entries));
    if (std::exchange(is_asked_again_, false)) read();
  });
}

}  // namespace octavo::server
