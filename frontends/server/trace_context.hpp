// SPDX-License-Identifier: Apache-2.0
// W3C Trace Context: which trace a request belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colonnade::serve {

/// Hexadecimal digits, as they travel.
struct TraceParent {
  std::string trace_id;  ///< 32
  std::string span_id;   ///< 16
  bool is_sampled = false;
};

/// Of a header `traceparent`; nothing where it is none, as the standard wants it.
std::optional<TraceParent> parse_traceparent(std::string_view text);

/// Random, not zero, of so many hexadecimal digits (at most 32).
std::string random_id(std::size_t digits);
/// True with this probability.
bool is_drawn(double rate);

}  // namespace colonnade::serve
