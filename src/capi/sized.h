// Structs of the C interface, whose first field is their size: later versions add fields at the end. A field counts
// where the size holds all of it.
//
// Free functions; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "octavo.h"

namespace octavo::capi {

/// The fields of a struct that follow its size, in their order.
template <class T>
struct Fields;

template <>
struct Fields<octavo_error> {
  static constexpr std::tuple kAll{&octavo_error::status, &octavo_error::http, &octavo_error::message,
                                   &octavo_error::field, &octavo_error::code};
};

template <>
struct Fields<octavo_load_options> {
  static constexpr std::tuple kAll{&octavo_load_options::model,       &octavo_load_options::options,
                                   &octavo_load_options::num_options, &octavo_load_options::shows_progress,
                                   &octavo_load_options::is_driven,   &octavo_load_options::shares,
                                   &octavo_load_options::stop};
};

template <>
struct Fields<octavo_counts> {
  static constexpr std::tuple kAll{&octavo_counts::steps,          &octavo_counts::prompt_tokens,
                                   &octavo_counts::cached_tokens,  &octavo_counts::generated_tokens,
                                   &octavo_counts::finished,       &octavo_counts::preemptions,
                                   &octavo_counts::drafted_tokens, &octavo_counts::accepted_draft_tokens,
                                   &octavo_counts::kv_bytes,       &octavo_counts::kv_budget_bytes,
                                   &octavo_counts::running,        &octavo_counts::waiting,
                                   &octavo_counts::pinned_bytes};
};

template <>
struct Fields<octavo_request> {
  static constexpr std::tuple kAll{
      &octavo_request::api,          &octavo_request::body,       &octavo_request::body_size,
      &octavo_request::tokens,       &octavo_request::num_tokens, &octavo_request::form,
      &octavo_request::wants_logits, &octavo_request::tag,        &octavo_request::pins};
};

template <>
struct Fields<octavo_queue_options> {
  static constexpr std::tuple kAll{&octavo_queue_options::on_events, &octavo_queue_options::user,
                                   &octavo_queue_options::max_waiting_bytes};
};

/// Where a field begins and ends in its struct.
struct Extent {
  std::size_t begin = 0, end = 0;
};

/// The extents of a struct's fields, its size first.
template <class T>
constexpr auto extents_of() {
  return std::apply(
      [](auto... fields) {
        std::array<Extent, 1 + sizeof...(fields)> extents = {{{0, sizeof(T::size)}}};
        std::size_t count = 1;
        const auto add = [&]<class Field>(Field T::*) {
          const std::size_t begin = (extents[count - 1].end + alignof(Field) - 1) / alignof(Field) * alignof(Field);
          extents[count++] = {begin, begin + sizeof(Field)};
        };
        (add(fields), ...);
        return extents;
      },
      Fields<T>::kAll);
}

/// The bytes of a struct's whole fields within `size`.
template <class T>
constexpr std::size_t whole_bytes(std::size_t size) noexcept {
  constexpr auto kExtents = extents_of<T>();
  static_assert((kExtents.back().end + alignof(T) - 1) / alignof(T) * alignof(T) == sizeof(T), "a field is not listed");
  std::size_t bytes = 0;
  for (const Extent& extent : kExtents)
    if (extent.end <= size) bytes = extent.end;
  return bytes;
}

/// Whether a struct's size may be that of some version: it has a field behind the size, ends inside of none, and is no
/// larger than structs grow.
template <class T>
bool has_size(const T& given) noexcept {
  constexpr std::size_t kMost = 4096;
  const auto cuts = [&given](const Extent& extent) { return extent.begin < given.size && given.size < extent.end; };
  return given.size > sizeof(given.size) && given.size <= kMost && std::ranges::none_of(extents_of<T>(), cuts);
}

/// A caller's struct, with 0 in the fields that it has no room for. `given` may be null: all fields are 0 then.
template <class T>
T read_sized(const T* given) noexcept {
  T read = {};
  if (given != nullptr) std::memcpy(&read, given, whole_bytes<T>(given->size));
  read.size = sizeof(T);
  return read;
}

/// Fills in the fields that a caller's struct has room for; its size stays.
template <class T>
void fill(T& caller, T told) noexcept {
  told.size = caller.size;
  std::memcpy(&caller, &told, whole_bytes<T>(caller.size));
}

}  // namespace octavo::capi
