// SPDX-License-Identifier: Apache-2.0
// The tree's own files, as the rules see them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace colonnade::test {

inline const std::filesystem::path kSourceRoot = COLONNADE_SOURCE_DIR;

struct SourceFile {
  std::string path;  ///< relative to the root, with forward slashes
  std::vector<std::string> lines;
};

inline std::vector<std::string> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

inline bool is_cpp(std::string_view path) {
  return path.ends_with(".cpp") || path.ends_with(".hpp") || path.ends_with(".h");
}
inline bool is_script(std::string_view path) {
  return path.ends_with(".cmake") || path.ends_with("CMakeLists.txt") || path.ends_with(".py") || path.ends_with(".sh");
}

/// Every file below `folders` whose relative path `wanted` accepts, in order of path.
template <class Wanted>
std::vector<SourceFile> source_files(std::initializer_list<const char*> folders, Wanted wanted) {
  std::vector<SourceFile> files;
  for (const char* folder : folders) {
    if (!std::filesystem::exists(kSourceRoot / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kSourceRoot / folder)) {
      const std::string path = entry.path().lexically_relative(kSourceRoot).generic_string();
      if (entry.is_regular_file() && wanted(path)) files.push_back({path, read_lines(entry.path())});
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace colonnade::test
