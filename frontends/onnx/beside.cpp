// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/beside.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr int kMostLinks = 40;
constexpr int kWalk = O_PATH | O_CLOEXEC;  ///< opens nothing: what lies there is only looked at

/// What messages are about.
struct Subject {
  const std::string& path;
  std::string_view where;

  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorCode::invalid_model, "{}: external data: '{}' {}", where, printable(path), why);
  }
  [[noreturn]] void fail_to_open(const std::string& name) const {
    fail(ErrorCode::io, "{}: external data: cannot open '{}': {}", where, printable(name), std::strerror(errno));
  }
};

struct stat status_of(const FileDescriptor& file, const Subject& subject) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) subject.fail_to_open(subject.path);
  return status;
}

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

FileDescriptor walk_into(int from, const std::string& folder, const Subject& subject) {
  FileDescriptor opened(::openat(from, folder.c_str(), kWalk | O_DIRECTORY));
  if (!opened.is_open()) subject.fail_to_open(folder);
  return opened;
}

std::string target_of(const FileDescriptor& link, const Subject& subject) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
  if (size < 0) subject.fail_to_open(subject.path);
  if (size == 0 || static_cast<std::size_t>(size) == text.size()) subject.refuse("leads through a link without end");
  return {text.data(), static_cast<std::size_t>(size)};
}

/// A file that was found and not yet opened.
struct Found {
  FileDescriptor folder, file;
  std::string name;
};

Found find(const std::string& from, const Subject& subject) {
  FileDescriptor at = walk_into(AT_FDCWD, from, subject);
  std::vector<std::string> rest = components_of(subject.path);
  std::reverse(rest.begin(), rest.end());
  for (int links = 0; !rest.empty();) {
    const std::string name = std::move(rest.back());
    rest.pop_back();
    FileDescriptor next(::openat(at.get(), name.c_str(), kWalk | O_NOFOLLOW));
    if (!next.is_open()) subject.fail_to_open(subject.path);
    const mode_t mode = status_of(next, subject).st_mode;
    if (S_ISLNK(mode)) {
      if (++links > kMostLinks) subject.refuse("leads through too many links");
      const std::string target = target_of(next, subject);
      if (target.front() == '/') at = walk_into(AT_FDCWD, "/", subject);
      const std::vector<std::string> more = components_of(target);
      rest.insert(rest.end(), more.rbegin(), more.rend());
    } else if (S_ISDIR(mode)) {
      at = std::move(next);
    } else if (rest.empty() && S_ISREG(mode)) {
      return {std::move(at), std::move(next), name};
    } else {
      subject.refuse(rest.empty() ? "is not a regular file" : "leads through a file");
    }
  }
  subject.refuse("is not a regular file");
}

/// Climbs from a folder to the root, so that it is told by what folders are and not by what they are called.
bool lies_below(const FileDescriptor& folder, const struct stat& top, const Subject& subject) {
  FileDescriptor at = walk_into(folder.get(), ".", subject);
  for (struct stat here = status_of(at, subject);;) {
    if (is_same(here, top)) return true;
    at = walk_into(at.get(), "..", subject);
    const struct stat above = status_of(at, subject);
    if (is_same(above, here)) return false;
    here = above;
  }
}

void check(const Found& found, const ModelFolders& folders, const Subject& subject) {
  const struct stat named = status_of(walk_into(AT_FDCWD, folders.named, subject), subject);
  const struct stat real = status_of(walk_into(AT_FDCWD, folders.real, subject), subject);
  const struct stat file = status_of(found.file, subject);
  const bool is_inside = lies_below(found.folder, named, subject);
  if (!is_inside && !is_same(status_of(found.folder, subject), real)) subject.refuse("leads out of the model's folder");
  if (file.st_uid == named.st_uid) return;
  if (!is_inside) subject.refuse("leads to a file of another owner than the model's folder");
  if (file.st_nlink > 1) subject.refuse("has several hard links and another owner than the model's folder");
}

}  // namespace

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, slash);
    if (!component.empty() && component != ".") components.emplace_back(component);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return components;
}

FileDescriptor open_beside(const ModelFolders& folders, const std::string& path, std::string_view where) {
  const Subject subject{path, where};
  const Found found = find(folders.named, subject);
  check(found, folders, subject);
  constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  FileDescriptor file(::openat(found.folder.get(), found.name.c_str(), kRead));
  if (!file.is_open()) subject.fail_to_open(path);
  if (!is_same(status_of(file, subject), status_of(found.file, subject))) subject.refuse("changed while it was opened");
  return file;
}

}  // namespace colonnade::onnx_import
