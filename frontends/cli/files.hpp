// SPDX-License-Identifier: Apache-2.0
// Whole files in and out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colonnade::cli {

/// Throws Error{invalid_input} naming the path when it is not a readable regular file.
std::vector<std::byte> read_file(const std::string& path);
/// Replaces the file. Throws Error{io}.
void write_file(const std::string& path, std::string_view bytes);
/// Creates the folder and its parents. Throws Error{io}.
void make_folder(const std::string& path);
/// Lower-case extension without the dot; "" when there is none.
std::string extension_of(std::string_view path);

}  // namespace colonnade::cli
