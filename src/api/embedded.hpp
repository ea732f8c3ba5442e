// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <span>

namespace colonnade {

/// One file of models/embedded, linked into the library.
struct EmbeddedModel {
  const char* name;
  std::span<const std::byte> content;
};

/// Made by cmake/embed.cmake.
std::span<const EmbeddedModel> embedded_models();

}  // namespace colonnade
