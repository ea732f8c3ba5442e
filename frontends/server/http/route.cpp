// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/route.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "frontends/server/http/json.hpp"
#include "frontends/server/http/message.hpp"

namespace colonnade::serve::http {
namespace {

/// Of a path `pattern`, in which M is the name of a model or region and * anything. `/versions/{version}` behind a
/// model and
/// `/v2/repository/{repository}` are taken out before.
struct Row {
  std::string_view pattern, method;
  Endpoint endpoint;
  std::string_view category;
};

constexpr Row kRows[] = {
    {"metrics", "GET", Endpoint::metrics, "metrics"},
    {"v2", "GET", Endpoint::server_metadata, "metadata"},
    {"v2/health/live", "GET", Endpoint::live, "health"},
    {"v2/health/ready", "GET", Endpoint::ready, "health"},
    {"v2/models/stats", "GET", Endpoint::statistics, "statistics"},
    {"v2/models/M", "GET", Endpoint::model_metadata, "metadata"},
    {"v2/models/M/ready", "GET", Endpoint::model_ready, "health"},
    {"v2/models/M/config", "GET", Endpoint::config, "model-config"},
    {"v2/models/M/stats", "GET", Endpoint::statistics, "statistics"},
    {"v2/models/M/describe", "GET", Endpoint::describe, "model-config"},
    {"v2/models/M/infer", "POST", Endpoint::infer, "inference"},
    {"v2/repository/index", "POST", Endpoint::index, "model-repository"},
    {"v2/repository/models/M/load", "POST", Endpoint::load, "model-repository"},
    {"v2/repository/models/M/unload", "POST", Endpoint::unload, "model-repository"},
    {"v2/models/M/generate", "", Endpoint::unsupported, "inference"},
    {"v2/models/M/generate_stream", "", Endpoint::unsupported, "inference"},
    {"v2/models/M/trace/setting", "", Endpoint::unsupported, "trace"},
    {"v2/trace/setting", "", Endpoint::unsupported, "trace"},
    {"v2/logging", "", Endpoint::unsupported, "logging"},
    {"v2/systemsharedmemory/status", "GET", Endpoint::shared_status, "shared-memory"},
    {"v2/systemsharedmemory/unregister", "POST", Endpoint::shared_unregister, "shared-memory"},
    {"v2/systemsharedmemory/region/M/status", "GET", Endpoint::shared_status, "shared-memory"},
    {"v2/systemsharedmemory/region/M/register", "POST", Endpoint::shared_register, "shared-memory"},
    {"v2/systemsharedmemory/region/M/unregister", "POST", Endpoint::shared_unregister, "shared-memory"},
    {"v2/cudasharedmemory/*", "", Endpoint::unsupported, "shared-memory"},
    {"v2/cudasharedmemory/region/*/*", "", Endpoint::unsupported, "shared-memory"},
};

using Segments = std::vector<std::string>;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) throw Problem(400, "the path has a '%' without two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) throw Problem(400, "the path has a control character");
    out += c;
  }
  if (!is_utf8(out)) throw Problem(400, "the path is no UTF-8");
  return out;
}

/// The path of a target, without scheme, host and query.
std::string_view path_of(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    target.remove_prefix(std::min(target.find('/'), target.size()));
    if (target.empty()) return "/";
  }
  target = target.substr(0, target.find_first_of("?#"));
  if (!target.starts_with('/')) throw Problem(400, "expected a path that begins with '/'");
  return target;
}

Segments split(std::string_view path) {
  Segments segments;
  while (true) {
    const std::size_t slash = path.find('/');
    segments.push_back(decode(path.substr(0, slash)));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

std::string checked_version(const std::string& version) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  if (error != std::errc() || end != version.data() + version.size() || number <= 0)
    throw Problem(400, "version: expected a positive number, found " + json_text(version));
  return version;
}

/// Takes what may stand in many paths out of them.
std::string take_version(Segments& segments) {
  if (segments.size() < 5 || segments[0] != "v2" || segments[1] != "models" || segments[3] != "versions") return {};
  const std::string version = checked_version(segments[4]);
  segments.erase(segments.begin() + 3, segments.begin() + 5);
  return version;
}

void drop_repository(Segments& segments) {
  if (segments.size() < 4 || segments[0] != "v2" || segments[1] != "repository" || segments[2] == "models") return;
  segments.erase(segments.begin() + 2);
}

bool matches(const Row& row, const Segments& segments, std::string& model) {
  std::string_view rest = row.pattern;
  const std::string* named = nullptr;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    const bool is_open = part == "M" || part == "*";
    if (part.empty() || (is_open ? segments[i].empty() : segments[i] != part)) return false;
    if (part == "M") named = &segments[i];
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  if (!rest.empty()) return false;
  if (named) model = *named;
  return true;
}

}  // namespace

Route find_route(std::string_view target) {
  const std::string_view raw = path_of(target);
  Segments segments = split(raw.substr(1));
  if (segments.size() > 1 && segments.back().empty()) segments.pop_back();
  Route route;
  route.path = decode(raw);
  route.version = take_version(segments);
  drop_repository(segments);
  for (const Row& row : kRows) {
    if (!matches(row, segments, route.model)) continue;
    route.endpoint = row.endpoint;
    route.method = row.method;
    route.category = row.category;
    return route;
  }
  if (segments[0] == "v2") throw Problem(404, "no such path: " + json_text(route.path));
  route.method = "GET";
  return route;
}

std::span<const std::string_view> restrictable_categories() {
  static const std::vector<std::string_view> categories = [] {
    std::vector<std::string_view> all;
    for (const Row& row : kRows)
      if (std::find(all.begin(), all.end(), row.category) == all.end()) all.push_back(row.category);
    return all;
  }();
  return categories;
}

}  // namespace colonnade::serve::http
