// SPDX-License-Identifier: Apache-2.0
// Zip archives as far as NumPy's .npz needs them: stored and deflated entries.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace colonnade::cli {

struct ZipEntry {
  std::string name;
  std::string bytes;
};

/// All entries, unpacked and checked against their CRC. Throws Error{invalid_input} naming `where` for anything
/// malformed; never allocates more than the archive can really hold.
std::vector<ZipEntry> parse_zip(std::span<const std::byte> archive, const std::string& where);

/// An archive of one stored entry or more, the same bytes every time. Throws Error{io}.
std::string format_zip(std::span<const ZipEntry> entries);

}  // namespace colonnade::cli
