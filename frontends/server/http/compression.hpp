// SPDX-License-Identifier: Apache-2.0
// gzip and deflate (RFC 1950, as HTTP means it) of bodies.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "frontends/server/http/body.hpp"

namespace colonnade::serve::http {

enum class Coding { identity, gzip, deflate };

std::string_view name_of(Coding coding);
/// Of a Content-Encoding field. Throws Problem (415) for any other.
Coding coding_of(std::string_view name);
/// What an Accept-Encoding field prefers among these; identity when in doubt.
Coding preferred_coding(std::string_view accepted);

/// Throws Problem: 400 for damaged or incomplete data, 413 beyond `most_bytes`. `aligned` and `lease` as Body's.
Body decompress(Coding coding, std::span<const std::byte> bytes, std::size_t most_bytes, std::size_t aligned,
                Lease lease = {});
/// All parts together, fast rather than small.
std::string compress(Coding coding, std::span<const std::span<const std::byte>> parts);

}  // namespace colonnade::serve::http
