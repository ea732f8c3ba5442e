// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colonnade::kernels {

/// What a processor can do beyond the portable instructions, by the names of GCC's flags: -mavx512f, -mamx-tile.
enum class Feature : unsigned char {
  avx2,
  fma,
  f16c,
  bmi2,
  avx512f,
  avx512bw,
  avx512cd,
  avx512dq,
  avx512vl,
  avxvnni,
  avx512vnni,
  avx512bf16,
  amx_tile,
  amx_bf16,
};

enum class Isa : unsigned char;

/// A set of features.
class Features {
 public:
  constexpr Features() = default;
  /// What kernels of a tier may use.
  Features(Isa tier) noexcept;  // NOLINT(google-explicit-constructor): a tier stands for its features
  template <class... More>
  constexpr explicit Features(Feature first, More... more) : bits_((bit(first) | ... | bit(more))) {}

  constexpr bool contains(Features other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr void add(Feature feature) { bits_ |= bit(feature); }
  constexpr void add(Features other) { bits_ |= other.bits_; }
  friend constexpr Features operator&(Features a, Features b) {
    a.bits_ &= b.bits_;
    return a;
  }
  constexpr bool operator==(const Features&) const = default;

 private:
  static constexpr unsigned bit(Feature feature) { return 1u << static_cast<unsigned>(feature); }
  unsigned bits_ = 0;
};

/// Those of this processor that the operating system lets this process use. Asks, once a process, for AMX's tiles.
Features host_features() noexcept;

}  // namespace colonnade::kernels
