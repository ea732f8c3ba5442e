// SPDX-License-Identifier: Apache-2.0
// What the files of the C interface share: statuses, structs of any version, handles.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "colonnade/colonnade.h"
#include "colonnade/colonnade.hpp"

/// The elements are the handle's own, or the caller's.
struct colonnade_tensor {
  colonnade::Tensor owned;
  colonnade::MutableTensorView view;
};

struct colonnade_model {
  explicit colonnade_model(colonnade::Model loaded);

  colonnade::Model model;
  std::vector<std::vector<const char*>> input_dim_names, output_dim_names;
  std::vector<colonnade_opset> opsets;
  std::vector<colonnade_property> custom;
};

namespace colonnade::c {

/// The status of an exception; never null.
colonnade_status* status_of(const std::exception_ptr& error) noexcept;

/// Runs the action; what it throws becomes a status.
template <class Action>
colonnade_status* guarded(Action&& action) noexcept {
  try {
    action();
    return nullptr;
  } catch (...) {
    return status_of(std::current_exception());
  }
}

template <class T>
T& required(T* pointer, const char* what) {
  if (pointer == nullptr) fail(ErrorCode::invalid_argument, "{} is null", what);
  return *pointer;
}

/// The place for a result, null until there is one.
template <class T>
T*& result_in(T** place, const char* what) {
  required(place, what) = nullptr;
  return *place;
}

/// A struct of the caller's as this library knows it: what an older one lacks is zero; what a newer one has more must
/// be.
template <class T>
T taken(const T* given, const char* what) {
  static_assert(std::is_trivially_copyable_v<T>);
  T known{};
  known.struct_size = sizeof(T);
  if (given == nullptr) return known;
  const std::size_t size = given->struct_size;
  if (size < sizeof(size) || size > std::max<std::size_t>(4096, sizeof(T)))
    fail(ErrorCode::invalid_argument, "{}: struct_size is {}, expected {}", what, size, sizeof(T));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size, [](unsigned char byte) { return byte != 0; }))
    fail(ErrorCode::unsupported, "{}: sets a field that version {} of the library does not know", what, version());
  std::memcpy(static_cast<void*>(&known), bytes, std::min(size, sizeof(T)));
  known.struct_size = sizeof(T);
  return known;
}

/// Fills a struct of the caller's as far as that goes.
template <class T>
void give(T known, T* place, const char* what) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t size = required(place, what).struct_size;
  if (size < sizeof(size) || size > std::max<std::size_t>(4096, sizeof(T)))
    fail(ErrorCode::invalid_argument, "{}: struct_size is {}, expected {}", what, size, sizeof(T));
  known.struct_size = size;
  std::memset(static_cast<void*>(place), 0, size);
  std::memcpy(static_cast<void*>(place), &known, std::min(size, sizeof(T)));
}

/// An array of the caller's; null only when it is empty.
template <class T>
std::span<T> array(T* elements, std::size_t count, const char* what) {
  if (count > 0) required(elements, what);
  return {elements, count};
}

/// Text for the caller, who frees it with colonnade_text_free.
char* new_text(std::string_view text);

ShapeMap shape_map(const colonnade_shape* shapes, std::size_t count);
Options options_of(const colonnade_options* given);

}  // namespace colonnade::c
