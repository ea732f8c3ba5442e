// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/trace_context.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <random>

namespace colonnade::serve {
namespace {

constexpr std::size_t kTraceDigits = 32, kSpanDigits = 16;
/// "00-", the trace, "-", the span, "-", two digits of flags.
constexpr std::size_t kParentChars = 3 + kTraceDigits + 1 + kSpanDigits + 3;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) { return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos; }

std::mt19937_64& source() {
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return engine;
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  if (text.size() < kParentChars || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const std::string_view version = text.substr(0, 2), trace = text.substr(3, kTraceDigits),
                         span = text.substr(36, kSpanDigits), flags = text.substr(53, 2);
  if (!is_hex(version) || version == "ff" || !is_id(trace) || !is_id(span) || !is_hex(flags)) return std::nullopt;
  // Later versions may have more behind another dash.
  if (text.size() > kParentChars && (version == "00" || text[kParentChars] != '-')) return std::nullopt;
  const char low = flags[1];
  const int digit = low <= '9' ? low - '0' : low - 'a' + 10;
  return TraceParent{std::string(trace), std::string(span), digit % 2 == 1};
}

std::string random_id(std::size_t digits) {
  std::string id;
  do {
    id = fmt::format("{:016x}{:016x}", source()(), source()()).substr(0, digits);
  } while (!is_id(id));
  return id;
}

bool is_drawn(double rate) { return std::uniform_real_distribution<double>(0, 1)(source()) < rate; }

}  // namespace colonnade::serve
