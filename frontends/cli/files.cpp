// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "colonnade/colonnade.hpp"

namespace colonnade::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void fail_to_read(const std::string& path, int error) {
  throw Error(ErrorCode::invalid_input, fmt::format("cannot read '{}': {}", path, std::strerror(error)));
}

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw Error(ErrorCode::io, fmt::format("cannot write '{}': {}", path, std::strerror(error)));
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail_to_read(path, EISDIR);
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_to_read(path, errno);
  std::vector<std::byte> bytes;
  std::size_t used = 0;
  for (;;) {
    bytes.resize(used + std::max<std::size_t>(used, std::size_t{1} << 16));
    const std::size_t got = std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
    used += got;
    if (got == 0) break;
  }
  if (std::ferror(file.get())) fail_to_read(path, errno);
  bytes.resize(used);
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) fail_to_write(path, errno);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) fail_to_write(path, errno);
  if (std::fclose(file.release()) != 0) fail_to_write(path, errno);
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw Error(ErrorCode::io, fmt::format("cannot create folder '{}': {}", path, error.message()));
}

std::string extension_of(std::string_view path) {
  std::string extension = std::filesystem::path(path).extension().string();
  if (!extension.empty()) extension.erase(0, 1);
  for (char& c : extension) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

}  // namespace colonnade::cli
