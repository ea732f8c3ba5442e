// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.hpp"

namespace colonnade {
namespace {

constexpr double kDefaultPeriodUs = 100000;

std::string_view next_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

/// The whole word as a number above zero; cgroup files write "max" or -1 for no limit.
std::optional<double> positive_number(std::string_view word) {
  long long value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value <= 0) return std::nullopt;
  return static_cast<double>(value);
}

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> quota_v2(const std::string& folder) {
  const std::string line = read_line(folder + "/cpu.max");
  std::string_view rest = line;
  const auto quota = positive_number(next_word(rest));
  const std::string_view period_word = next_word(rest);
  const auto period = period_word.empty() ? std::optional(kDefaultPeriodUs) : positive_number(period_word);
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

std::optional<double> quota_v1(const std::string& folder) {
  const std::string quota_line = read_line(folder + "/cpu.cfs_quota_us");
  const std::string period_line = read_line(folder + "/cpu.cfs_period_us");
  std::string_view quota_text = quota_line;
  std::string_view period_text = period_line;
  const auto quota = positive_number(next_word(quota_text));
  const auto period = positive_number(next_word(period_text));
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

/// `mount` and every folder below it on the way to `path`. A path out of the namespace ("/../x") stops at the mount.
std::vector<std::string> folders_on_path(const std::string& mount, std::string_view path) {
  std::vector<std::string> folders{mount};
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name == "..") break;
    if (!name.empty()) folders.push_back(folders.back() + "/" + std::string(name));
  }
  return folders;
}

bool lists(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == name) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

void take_smallest(double& smallest, std::optional<double> quota) {
  if (quota && (smallest == 0 || *quota < smallest)) smallest = *quota;
}

/// One line of /proc/self/cgroup is "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
double quota_of_line(const std::string& root, std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return 0;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const std::string_view path = line.substr(second + 1);

  double smallest = 0;
  if (controllers.empty() && line.substr(0, first) == "0") {
    for (const char* mount : {"", "/unified"}) {
      for (const std::string& folder : folders_on_path(root + mount, path)) take_smallest(smallest, quota_v2(folder));
    }
  } else if (lists(controllers, "cpu")) {
    for (const std::string& mount : {std::string(controllers), std::string("cpu")}) {
      for (const std::string& folder : folders_on_path(root + "/" + mount, path)) {
        take_smallest(smallest, quota_v1(folder));
      }
    }
  }
  return smallest;
}

}  // namespace

double cgroup_cpu_quota(const std::string& root, std::string_view self) {
  double smallest = 0;
  while (!self.empty()) {
    const std::size_t end = std::min(self.find('\n'), self.size());
    const double quota = quota_of_line(root, self.substr(0, end));
    take_smallest(smallest, quota > 0 ? std::optional(quota) : std::nullopt);
    self.remove_prefix(std::min(end + 1, self.size()));
  }
  return smallest;
}

}  // namespace colonnade
