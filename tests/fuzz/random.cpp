// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "fuzz/fuzz.hpp"

namespace colonnade::fuzz {
namespace {

/// Spreads neighbouring numbers (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t index) : engine_(mixed(mixed(seed) + index)) {}

std::int64_t Random::integer() {
  using Limits = std::numeric_limits<std::int64_t>;
  static constexpr std::int64_t kNumbers[] = {
      0,   1,   -1,        2,         -2,        3,         4,         5,         7,         8,
      16,  17,  31,        32,        64,        127,       -128,      255,       256,       1000,
      -7,  -64, 0x7fffLL,  0xffffLL,  1LL << 20, 1LL << 24, 1LL << 30, 1LL << 31, 1LL << 32, (1LL << 31) - 1,
      100, 10,  1LL << 40, 1LL << 61, 1LL << 62, 6,         9,         13,        1LL << 48, 0xffffffffLL,
      -3,  -4,  -5,        -1000,     12,        -6};
  switch (below(8)) {
    case 0: return static_cast<std::int64_t>(bits());
    case 1: return Limits::max() - static_cast<std::int64_t>(below(3));
    case 2: return Limits::min() + static_cast<std::int64_t>(below(3));
    case 3: return static_cast<std::int64_t>(below(64));
    default: return one_of(kNumbers);
  }
}

std::string damage(std::string bytes, const std::string& donor, Random& random) {
  for (std::size_t count = 1 + random.below(4); count > 0; --count) {
    if (bytes.empty()) return donor;
    const std::size_t at = random.below(bytes.size());
    switch (random.below(7)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
      case 1: bytes[at] = static_cast<char>(random.integer()); break;
      case 2: bytes.insert(at, 1 + random.below(8), static_cast<char>(random.bits())); break;
      case 3: bytes.erase(at, 1 + random.below(8)); break;
      case 4: bytes.resize(at); break;
      case 5: bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(64))); break;
      default:
        if (!donor.empty()) bytes = bytes.substr(0, at) + donor.substr(random.below(donor.size()));
        break;
    }
  }
  return bytes;
}

}  // namespace colonnade::fuzz
