// SPDX-License-Identifier: Apache-2.0
// Positions of extremes: of lines that lie side by side, many at a time; of dense lines, one lane of many after
// another.
#pragma once

#include "kernels/typed/elements.hpp"

namespace colonnade::kernels::typed {
namespace {

/// What lies in memory, as what is compared.
template <class T>
using Plain = decltype(plain(T{}));

/// Whether the next element takes the place of the one held. NaN is taken once, and nothing takes its place.
template <bool max, bool last, class V>
inline bool takes(V next, V held) {
  const bool better = max ? next > held : next < held;
  return better | (last & (next == held)) | ((next != next) & (held == held));
}

/// `count` lines that lie side by side, at most kLines.
template <bool max, bool last, class T>
inline void side_by_side(const T* __restrict in, std::int64_t* __restrict out, std::size_t size, std::size_t inner,
                         std::size_t count) {
  constexpr std::size_t kLines = 64;
  Plain<T> held[kLines];
  std::int32_t best[kLines];
  for (std::size_t i = 0; i < count; ++i) held[i] = plain(in[i]);
  for (std::size_t i = 0; i < count; ++i) best[i] = 0;
  const T* __restrict line = in;
  for (std::size_t k = 1; k < size; ++k) {
    line += inner;
    const auto place = static_cast<std::int32_t>(k);
    const auto visit = [&](std::size_t lines) {
      for (std::size_t i = 0; i < lines; ++i) {
        const Plain<T> next = plain(line[i]);
        const bool taken = takes<max, last>(next, held[i]);
        held[i] = taken ? next : held[i];
        best[i] = taken ? place : best[i];
      }
    };
    if (count == kLines)
      visit(kLines);
    else
      visit(count);
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = best[i];
}

// Conditions as whole numbers, one choice after another: so the compiler makes vectors of what follows, and no branches
// that nobody can predict.

/// An element and its place.
template <class V>
struct Placed {
  V value;
  std::int32_t place;
};

/// The next element of a line, which lies behind what is held.
template <bool max, bool last, class V>
inline Placed<V> later(V next, std::int32_t place, Placed<V> held) {
  const bool better =
      last ? (max ? next >= held.value : next <= held.value) : (max ? next > held.value : next < held.value);
  const V value = better ? next : held.value;
  const std::int32_t chosen = better ? place : held.place;
  const std::int32_t first_nan = held.value == held.value ? place : chosen;
  return {next != next ? next : value, next != next ? first_nan : chosen};
}

/// Of two, wherever they lie: NaN before all else, then the extreme, then the first (or last) place.
template <bool max, bool last, class V>
inline Placed<V> winner(Placed<V> a, Placed<V> b) {
  const std::int32_t earlier = a.place < b.place ? 1 : 0;
  const std::int32_t preferred = last ? 1 - earlier : earlier;
  const std::int32_t better = (max ? a.value > b.value : a.value < b.value) ? 1 : 0;
  const std::int32_t among_numbers = a.value == b.value ? preferred : better;
  const std::int32_t beside_nan = a.value != a.value ? earlier : 0;
  const std::int32_t beside_number = a.value != a.value ? 1 : among_numbers;
  const std::int32_t taken = b.value != b.value ? beside_nan : beside_number;
  return {taken != 0 ? a.value : b.value, taken != 0 ? a.place : b.place};
}

/// The place of the extreme of a dense line.
template <bool max, bool last, class T>
inline std::int32_t place_in_line(const T* __restrict in, std::size_t size) {
  constexpr std::size_t kLanes = 16;
  if (size < kLanes) {
    Placed<Plain<T>> best{plain(in[0]), 0};
    for (std::size_t k = 1; k < size; ++k)
      best = later<max, last, Plain<T>>(plain(in[k]), static_cast<std::int32_t>(k), best);
    return best.place;
  }
  Plain<T> values[kLanes] = {};
  std::int32_t places[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) places[i] = static_cast<std::int32_t>(i);
  for (std::size_t i = 0; i < kLanes; ++i) values[i] = plain(in[i]);
  const auto visit = [&](std::size_t k, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Placed<Plain<T>> held{values[i], places[i]};
      const auto next = later<max, last, Plain<T>>(plain(in[k + i]), static_cast<std::int32_t>(k + i), held);
      values[i] = next.value;
      places[i] = next.place;
    }
  };
  std::size_t k = kLanes;
  for (; k + kLanes <= size; k += kLanes) visit(k, kLanes);
  if (k < size) visit(k, size - k);
  const auto fold = [&](std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      const Placed<Plain<T>> a{values[i + width], places[i + width]}, b{values[i], places[i]};
      const auto best = winner<max, last, Plain<T>>(a, b);
      values[i] = best.value;
      places[i] = best.place;
    }
  };
  fold(8);
  fold(4);
  fold(2);
  fold(1);
  return places[0];
}

template <bool max, bool last, class T>
inline void arg_lines_of(const ArgArgs& args) noexcept {
  constexpr std::size_t kLines = 64;
  const auto* in = static_cast<const T*>(args.in);
  std::int64_t* out = args.out;
  for (std::size_t o = 0; o < args.outer; ++o, in += args.size * args.inner, out += args.inner) {
    if (args.inner == 1) {
      *out = place_in_line<max, last>(in, args.size);
      continue;
    }
    for (std::size_t i = 0; i < args.lines; i += kLines)
      side_by_side<max, last>(in + i, out + i, args.size, args.inner,
                              args.lines - i < kLines ? args.lines - i : kLines);
  }
}

template <class T>
inline void arg_lines(const ArgArgs& args) noexcept {
  if (args.max) return args.last ? arg_lines_of<true, true, T>(args) : arg_lines_of<true, false, T>(args);
  return args.last ? arg_lines_of<false, true, T>(args) : arg_lines_of<false, false, T>(args);
}

}  // namespace
}  // namespace colonnade::kernels::typed
