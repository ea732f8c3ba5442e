// SPDX-License-Identifier: Apache-2.0
// The status page: what lies in frontends/server/page, embedded when this is built.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace colonnade::serve::http {

struct PageFile {
  std::string_view type;  ///< for Content-Type
  std::string_view content;
};

/// The file that a path means; "/" is index.html.
std::optional<PageFile> page_file(std::string_view path);

struct EmbeddedFile {
  std::string_view name, content;
};
/// Made by cmake/embed.cmake.
std::span<const EmbeddedFile> embedded_files();

}  // namespace colonnade::serve::http
