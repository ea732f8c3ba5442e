// SPDX-License-Identifier: Apache-2.0
#include "base/printable.hpp"

namespace colonnade {

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string clean(text.substr(0, kLongest));
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > kLongest) clean += "...";
  return clean;
}

}  // namespace colonnade
