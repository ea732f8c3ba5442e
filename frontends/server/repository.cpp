// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/repository.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "frontends/server/config.hpp"

namespace colonnade::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigName = "config.pbtxt";
constexpr const char* kModelName = "model.onnx";
constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20;
constexpr std::size_t kMostFiles = 10000;  ///< of one version
constexpr int kDeepestFolder = 4;

bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [end, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

/// Where `path` really lies, which must be below `root`. `what` names it for the client.
fs::path contained(const fs::path& path, const fs::path& root, const std::string& what) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) throw Failure(Code::not_found, fmt::format("{} cannot be read: {}", what, error.message()));
  if (!is_within(real, root)) reject(what + " is a link to a place outside");
  return real;
}

std::string read_file(const fs::path& path, std::size_t most_bytes, const std::string& what) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) reject(what + " is no regular file");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) throw Failure(Code::not_found, fmt::format("{} cannot be read: {}", what, error.message()));
  if (size > most_bytes) reject(fmt::format("{} has {} bytes, at most {} are read", what, size, most_bytes));
  std::string text(static_cast<std::size_t>(size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(size)))
    throw Failure(Code::not_found, what + " cannot be read");
  return text;
}

/// Sizes and times of files, added up as they are seen.
struct Stamp {
  std::string text;
  fs::file_time_type newest = fs::file_time_type::min();

  void add(const fs::path& file) {
    std::error_code error;
    const auto time = fs::last_write_time(file, error);
    if (error) return;
    const auto size = fs::is_regular_file(file, error) ? fs::file_size(file, error) : 0;
    text += fmt::format("{}:{}:{};", file.filename().string(), size, time.time_since_epoch().count());
    newest = std::max(newest, time);
  }
};

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with('.')) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

Stamp stamp_of_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry.depth() >= kDeepestFolder) entry.disable_recursion_pending();
    files.push_back(entry->path());
    if (files.size() > kMostFiles) reject(fmt::format("a version has at most {} files", kMostFiles));
  }
  std::sort(files.begin(), files.end());
  Stamp stamp;
  for (const fs::path& file : files) stamp.add(file);
  return stamp;
}

/// The file to load of a version's folder, or "" when there is none: `name`, or the file in a folder of this name that
/// holds external data too.
fs::path model_file(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / name;
  std::error_code error;
  if (fs::is_regular_file(file, error)) return file;
  if (fs::is_regular_file(file / kModelName, error)) return file / kModelName;
  return {};
}

bool is_version_folder(const fs::path& path) {
  std::error_code error;
  return parse_version(path.filename().string()) && fs::is_directory(path, error);
}

bool is_onnx_file(const fs::path& path) {
  std::error_code error;
  return path.extension() == ".onnx" && fs::is_regular_file(path, error);
}

bool is_model_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return false;
  if (fs::exists(folder / kConfigName, error)) return true;
  const std::vector<fs::path> entries = entries_of(folder);
  return std::any_of(entries.begin(), entries.end(), is_version_folder);
}

/// True for what somebody took for a model's folder: an .onnx file lies in it, or in a folder of it.
bool is_meant_as_model(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return false;
  const auto holds_onnx = [](const fs::path& place) {
    const std::vector<fs::path> entries = entries_of(place);
    return std::any_of(entries.begin(), entries.end(), is_onnx_file);
  };
  const std::vector<fs::path> entries = entries_of(folder);
  return holds_onnx(folder) || std::any_of(entries.begin(), entries.end(), [&](const fs::path& entry) {
           return fs::is_directory(entry, error) && holds_onnx(entry);
         });
}

void add_stamp(FoundModel& model, std::int64_t version, const Stamp& stamp) {
  model.stamps[version] = stamp.text;
  model.changed = std::max(model.changed, stamp.newest);
}

void read_config(FoundModel& model, const fs::path& root) {
  std::error_code error;
  const fs::path path = model.folder / kConfigName;
  if (!fs::exists(fs::symlink_status(path, error))) return;
  const fs::path real = contained(path, root, kConfigName);
  Stamp stamp;
  stamp.add(real);
  model.config_stamp = stamp.text;
  model.changed = std::max(model.changed, stamp.newest);
  model.config = parse_config(read_file(real, kMostConfigBytes, kConfigName));
  model.warnings = check_config(model.config, model.name);
}

void read_versions(FoundModel& model, const fs::path& root) {
  const std::string& given = model.config.default_model_filename();
  const std::string name = given.empty() ? kModelName : given;
  std::vector<fs::path> folders = entries_of(model.folder);
  std::erase_if(folders, [](const fs::path& entry) { return !is_version_folder(entry); });
  if (folders.empty()) {
    model.changed = std::max(model.changed, fs::last_write_time(model.folder));
    throw Failure(Code::not_found,
                  fmt::format("expected folders of versions that hold the model, as 1/{}; found none", name));
  }
  for (const fs::path& entry : folders) {
    const std::string text = entry.filename().string();
    const fs::path folder = contained(entry, root, "version " + text);
    const fs::path file = model_file(folder, name);
    if (file.empty()) continue;
    const std::int64_t version = *parse_version(text);
    model.versions[version] = contained(file, root, fmt::format("{}/{}", text, name));
    add_stamp(model, version, stamp_of_folder(folder));
  }
  if (model.versions.empty()) throw Failure(Code::not_found, fmt::format("no version has a file {}", name));
}

void read_bare_file(FoundModel& model, const fs::path& file) {
  model.versions[1] = file;
  Stamp stamp;
  stamp.add(file);
  add_stamp(model, 1, stamp);
}

/// Runs `read` and keeps why it failed as the model's problem.
template <class Read>
FoundModel read_model(const std::string& name, const fs::path& folder, Read read) {
  FoundModel model;
  model.name = name;
  model.folder = folder;
  model.changed = fs::file_time_type::min();
  try {
    if (!is_model_name(name))
      reject(
          fmt::format("expected a name of letters, digits and _-.+@:, at most 200, found {} characters", name.size()));
    read(model);
  } catch (const Failure& failure) {
    model.problem = failure.status();
  } catch (const fs::filesystem_error& error) {
    model.problem = Status{Code::not_found, "cannot be read: " + error.code().message()};
  }
  return model;
}

FoundModel read_folder(const std::string& name, const fs::path& folder, const fs::path& root) {
  return read_model(name, folder, [&](FoundModel& model) {
    model.folder = contained(folder, root, "the model's folder");
    read_config(model, root);
    read_versions(model, root);
  });
}

FoundModel read_file_entry(const std::string& name, const fs::path& file, const fs::path& root) {
  return read_model(name, {},
                    [&](FoundModel& model) { read_bare_file(model, contained(file, root, "the model's file")); });
}

/// True for the folder of a single model, given where a repository is expected.
bool is_single_model(const fs::path& root) {
  std::error_code error;
  if (fs::exists(root / kConfigName, error)) return true;
  const std::vector<fs::path> entries = entries_of(root);
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    return is_version_folder(entry) && !model_file(entry, kModelName).empty();
  });
}

/// What stands for a repository: a path, or NAME=PATH where that is a single model.
struct Source {
  std::string name;  ///< "": as the path is called
  fs::path path;
};

Source parse_source(const std::string& text) {
  const std::size_t sign = text.find('=');
  std::error_code error;
  // Paths may hold the sign too.
  if (sign == std::string::npos || fs::exists(text, error) || !is_model_name(text.substr(0, sign))) return {"", text};
  return {text.substr(0, sign), text.substr(sign + 1)};
}

/// Those models of a repository whose name `wanted` is, or all when that is null.
void scan(const Source& source, const std::string* wanted, std::vector<FoundModel>& models) {
  const auto is_wanted = [&](const std::string& name) { return wanted == nullptr || *wanted == name; };
  const auto name_or = [&](const fs::path& called) { return source.name.empty() ? called.string() : source.name; };
  std::error_code error;
  const fs::path root = fs::canonical(source.path, error);
  if (error) throw Failure(Code::not_found, fmt::format("repository {}: {}", source.path.string(), error.message()));
  if (fs::is_regular_file(root, error)) {
    const std::string name = name_or(source.path.stem());
    if (is_wanted(name)) models.push_back(read_file_entry(name, root, root.parent_path()));
    return;
  }
  if (is_single_model(root)) {
    const std::string name = name_or(root.filename());
    if (is_wanted(name)) models.push_back(read_folder(name, root, root));
    return;
  }
  const std::size_t before = models.size();
  const std::vector<fs::path> entries = entries_of(root);
  // Beside bare files a folder may hold anything.
  const bool is_triton = std::none_of(entries.begin(), entries.end(), is_onnx_file);
  for (const fs::path& entry : entries) {
    const std::string stem = name_or(entry.stem()), name = name_or(entry.filename());
    if (is_onnx_file(entry) && is_wanted(stem)) models.push_back(read_file_entry(stem, entry, root));
    if (!is_wanted(name)) continue;
    if (is_model_folder(entry) || (is_triton && is_meant_as_model(entry)))
      models.push_back(read_folder(name, entry, root));
  }
  if (!source.name.empty() && models.size() > before + 1)
    throw Failure(Code::invalid_argument, fmt::format("{}={}: expected a single model, found {}", source.name,
                                                      source.path.string(), models.size() - before));
}

std::vector<FoundModel> scan_all(const std::vector<std::string>& paths, const std::string* wanted) {
  std::vector<FoundModel> models;
  for (const std::string& path : paths) {
    try {
      scan(parse_source(path), wanted, models);
    } catch (const fs::filesystem_error& failure) {
      throw Failure(Code::not_found, fmt::format("repository {}: {}", path, failure.code().message()));
    }
  }
  std::stable_sort(models.begin(), models.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto same = [](const FoundModel& a, const FoundModel& b) { return a.name == b.name; };
  for (auto at = std::adjacent_find(models.begin(), models.end(), same); at != models.end();
       at = std::adjacent_find(at, models.end(), same)) {
    at->problem = Status{Code::invalid_argument, fmt::format("model '{}' exists twice in the repositories", at->name)};
    models.erase(at + 1);
  }
  return models;
}

}  // namespace

std::vector<FoundModel> scan_repositories(const std::vector<std::string>& paths) { return scan_all(paths, nullptr); }

std::optional<FoundModel> find_model(const std::vector<std::string>& paths, const std::string& name) {
  if (!is_model_name(name)) return std::nullopt;
  std::vector<FoundModel> models = scan_all(paths, &name);
  if (models.empty()) return std::nullopt;
  return std::move(models.front());
}

std::string read_model_file(const FoundModel& model, const fs::path& relative, std::size_t most_bytes) {
  const std::string what = relative.filename().string();
  if (model.folder.empty()) throw Failure(Code::not_found, what + ": the model has no folder");
  return read_file(contained(model.folder / relative, model.folder, what), most_bytes, what);
}

LoadParameters parse_load_parameters(const std::map<std::string, std::string>& parameters) {
  constexpr std::string_view kFile = "file:";
  LoadParameters result;
  if (const auto found = parameters.find("config"); found != parameters.end())
    result.config = parse_config_json(found->second);
  const bool is_named = result.config && !result.config->default_model_filename().empty();
  const std::string name = is_named ? result.config->default_model_filename() : kModelName;
  for (const auto& [key, value] : parameters) {
    if (key == "config") continue;
    if (!key.starts_with(kFile)) reject("a load takes the parameters config and file:<version>/<name>, no other");
    const std::string_view path = std::string_view(key).substr(kFile.size());
    const std::size_t slash = path.find('/');
    const auto version = parse_version(path.substr(0, slash));
    if (!version || slash == std::string_view::npos || path.substr(slash + 1) != name)
      reject(fmt::format("parameter file: expected file:<version>/{}, with 1 or more as version", name));
    if (value.empty()) reject(fmt::format("parameter file:{}/{} is empty", *version, name));
    result.files[*version] = value;
  }
  return result;
}

}  // namespace colonnade::serve
