// SPDX-License-Identifier: Apache-2.0
// The loops of every tier: several lines at a time, for the compiler to vectorise.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/base/copy.hpp"
#include "kernels/lines/lines.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace colonnade::kernels::lines {
namespace {

template <class T>
inline auto wrapping(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return static_cast<std::uint64_t>(x);
  }
}

struct Plus {
  static constexpr int kStart = 0;
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(wrapping(a) + wrapping(b));
  }
};
struct Times {
  static constexpr int kStart = 1;
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(wrapping(a) * wrapping(b));
  }
};

/// Where the elements of a block of lines lie: in[k * row + c * column], out alike.
template <class T>
struct Block {
  const T* in;
  T* out;
  std::size_t size;
  std::ptrdiff_t row, column;
};

/// kColumns, kColumn 0: as many lines as `count` says, as far apart as the block says. `made` is what they have come
/// to.
template <class Op, class T, std::size_t kColumns, std::ptrdiff_t kColumn>
inline void run_along(const Block<T>& block, std::size_t count, bool exclusive, T* made) noexcept {
  const std::size_t columns = kColumns == 0 ? count : kColumns;
  const std::ptrdiff_t column = kColumn == 0 ? block.column : kColumn;
  const T* in = block.in;
  T* out = block.out;
  for (std::size_t k = 0; k < block.size; ++k, in += block.row, out += block.row)
    for (std::size_t c = 0; c < columns; ++c) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(c) * column;
      const T next = Op::of(made[c], in[at]);
      out[at] = exclusive ? made[c] : next;
      made[c] = next;
    }
}

template <class T>
inline void put_start(T* made, std::size_t count, int start) {
  for (std::size_t c = 0; c < count; ++c) made[c] = static_cast<T>(start);
}

/// Lines whose elements lie side by side, some elements of each at a time: lines that are powers of two apart would
/// drive each other out of the cache.
template <class Op, class T>
inline void run_lines(const LineArgs& args) noexcept {
  constexpr std::size_t kLines = 8, kElements = 256 / sizeof(T), kApart = kElements + 64 / sizeof(T);
  T near[kLines * kApart], made[kLines];
  const T* in = static_cast<const T*>(args.in);
  T* out = static_cast<T*>(args.out);
  for (std::size_t line = 0; line < args.columns; line += kLines) {
    const std::size_t left = args.columns - line, count = left < kLines ? left : kLines;
    put_start(made, kLines, Op::kStart);
    for (std::size_t done = 0; done < args.size; done += kElements) {
      const std::size_t size = args.size - done < kElements ? args.size - done : kElements;
      const std::size_t first = args.reverse ? args.size - done - size : done;
      const auto place = [&](std::size_t c) {
        return static_cast<std::ptrdiff_t>(line + c) * args.column_step + static_cast<std::ptrdiff_t>(first);
      };
      for (std::size_t c = 0; c < count; ++c) copy_memory(near + c * kApart, in + place(c), size * sizeof(T));
      T* const begin = args.reverse ? near + size - 1 : near;
      const Block<T> block{begin, begin, size, args.reverse ? -1 : 1, kApart};
      if (count == kLines)
        run_along<Op, T, kLines, kApart>(block, count, args.exclusive, made);
      else
        run_along<Op, T, 0, kApart>(block, count, args.exclusive, made);
      for (std::size_t c = 0; c < count; ++c) copy_memory(out + place(c), near + c * kApart, size * sizeof(T));
    }
  }
}

template <class Op, class T>
inline void running(const LineArgs& args) noexcept {
  if (args.row_step == 1 && args.column_step != 1) return run_lines<Op, T>(args);
  const std::ptrdiff_t row = args.reverse ? -args.row_step : args.row_step;
  const std::ptrdiff_t first = args.reverse ? static_cast<std::ptrdiff_t>(args.size - 1) * args.row_step : 0;
  T made[kMostColumns];
  put_start(made, args.columns, Op::kStart);
  run_along<Op, T, 0, 1>({static_cast<const T*>(args.in) + first, static_cast<T*>(args.out) + first, args.size, row, 1},
                         args.columns, args.exclusive, made);
}

/// A signed integer as wide as T.
template <class T>
using Position = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

/// Lines side by side.
template <class T>
inline void column_peaks(const LineArgs& args) noexcept {
  const auto* in = static_cast<const T*>(args.in);
  auto* out = static_cast<T*>(args.out);
  const std::size_t columns = args.columns, size = args.size;
  T best[kMostColumns];
  Position<T> at[kMostColumns] = {};
  for (std::size_t c = 0; c < columns; ++c) best[c] = in[c];
  for (std::size_t k = 1; k < size; ++k) {
    in += args.row_step;
    for (std::size_t c = 0; c < columns; ++c) {
      const bool better = in[c] > best[c];
      best[c] = better ? in[c] : best[c];
      at[c] = better ? static_cast<Position<T>>(k) : at[c];
    }
  }
  for (std::size_t k = 0; k < size; ++k, out += args.row_step)
    for (std::size_t c = 0; c < columns; ++c) out[c] = at[c] == static_cast<Position<T>>(k) ? T{1} : T{0};
}

/// The first largest element of a line without a gap: how large it is by lanes, then where it is.
template <class T>
inline std::size_t peak_of(const T* line, std::size_t size) {
  constexpr std::size_t kLanes = 256 / sizeof(T);
  if (line[0] != line[0]) return 0;
  T best[kLanes];
  for (std::size_t l = 0; l < kLanes; ++l) best[l] = line[0];
  const std::size_t whole = size / kLanes * kLanes;
  for (std::size_t k = 0; k < whole; k += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) best[l] = line[k + l] > best[l] ? line[k + l] : best[l];
  for (std::size_t i = whole; i < size; ++i) best[0] = line[i] > best[0] ? line[i] : best[0];
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) best[l] = best[l + half] > best[l] ? best[l + half] : best[l];
  const T most = best[0];
  for (std::size_t k = 0; k < whole; k += kLanes) {
    constexpr Position<T> kNowhere = kLanes;
    Position<T> first = kNowhere;
    for (std::size_t l = 0; l < kLanes; ++l) {
      const Position<T> place = line[k + l] == most ? static_cast<Position<T>>(l) : kNowhere;
      first = place < first ? place : first;
    }
    if (first != kNowhere) return k + static_cast<std::size_t>(first);
  }
  std::size_t place = whole;
  while (place + 1 < size && line[place] != most) ++place;
  return place;
}

template <class T>
inline void peaks(const LineArgs& args) noexcept {
  if (args.column_step == 1) return column_peaks<T>(args);
  const auto* in = static_cast<const T*>(args.in);
  auto* out = static_cast<T*>(args.out);
  for (std::size_t c = 0; c < args.columns; ++c, in += args.column_step, out += args.column_step) {
    const std::size_t place = peak_of(in, args.size);
    std::memset(out, 0, args.size * sizeof(T));
    out[place] = T{1};
  }
}

/// Bits of a floating point number as a key; kInfinity: those of infinity.
template <class Bits, Bits kInfinity>
struct Real {
  using Key = std::conditional_t<sizeof(Bits) == 8, std::uint64_t, std::uint32_t>;
  Bits bits;
  Key key() const {
    constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    const auto size = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
    const auto ordered = static_cast<Bits>((bits & kSign) != 0 ? kSign - size : kSign + size);
    return size > kInfinity ? std::numeric_limits<Key>::max() : static_cast<Key>(ordered);
  }
};

template <class T>
struct Integer {
  using Key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  T value;
  Key key() const {
    constexpr Key kShift = std::is_signed_v<T> ? Key{1} << (8 * sizeof(Key) - 1) : 0;
    return static_cast<Key>(value) ^ kShift;
  }
};

template <class Element>
inline void write_keys(const KeyArgs& args) noexcept {
  using Key = typename Element::Key;
  const auto* in = static_cast<const Element*>(args.in);
  auto* __restrict keys = static_cast<Key*>(args.keys);
  const Key turned = args.smallest ? std::numeric_limits<Key>::max() : 0;
  const std::size_t count = args.count;
  if (args.step == 1) {
    for (std::size_t i = 0; i < count; ++i) keys[i] = in[i].key() ^ turned;
    return;
  }
  for (std::size_t i = 0; i < count; ++i) keys[i] = in[static_cast<std::ptrdiff_t>(i) * args.step].key() ^ turned;
}

inline std::uint64_t ranked(std::uint32_t key, std::size_t place) {
  return (std::uint64_t{key} << 32) | static_cast<std::uint32_t>(~place);
}
inline Rank64 ranked(std::uint64_t key, std::size_t place) { return {key, ~std::uint64_t{place}}; }

/// Which of 16 keys lie above a limit, the first one's bit lowest.
template <class Key>
inline std::uint32_t above_limit(const Key* keys, Key limit) {
  std::uint32_t bits = 0;
  for (std::uint32_t i = 0; i < 16; ++i) bits |= (keys[i] > limit ? 1u : 0u) << i;
  return bits;
}
#if defined(__AVX512F__)
inline std::uint32_t above_limit(const std::uint32_t* keys, std::uint32_t limit) {
  return _mm512_cmpgt_epu32_mask(_mm512_loadu_si512(keys), _mm512_set1_epi32(static_cast<int>(limit)));
}
#elif defined(__AVX2__)
inline std::uint32_t above_limit(const std::uint32_t* keys, std::uint32_t limit) {
  const __m256i sign = _mm256_set1_epi32(INT32_MIN);
  const __m256i most = _mm256_xor_si256(_mm256_set1_epi32(static_cast<int>(limit)), sign);
  const auto half = [&](const std::uint32_t* some) {
    const __m256i here = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(some)), sign);
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(here, most))));
  };
  return half(keys) | half(keys + 8) << 8;
}
#endif

template <class Key>
inline std::size_t keys_above(const AboveArgs& args) noexcept {
  constexpr std::size_t kAtOnce = 16;
  using Out = decltype(ranked(Key{}, 0));
  const auto* keys = static_cast<const Key*>(args.keys);
  auto* out = static_cast<Out*>(args.out);
  const Key limit = static_cast<Key>(args.limit);
  std::size_t found = 0, begin = 0;
  for (; begin + kAtOnce <= args.count; begin += kAtOnce)
    for (std::uint32_t bits = above_limit(keys + begin, limit); bits != 0; bits &= bits - 1) {
      const std::size_t i = begin + static_cast<std::size_t>(__builtin_ctz(bits));
      out[found++] = ranked(keys[i], args.first + i);
    }
  for (std::size_t i = begin; i < args.count; ++i) {
    out[found] = ranked(keys[i], args.first + i);
    found += keys[i] > limit ? 1 : 0;
  }
  return found;
}

template <class Op>
inline LineFn find_running(Type type) noexcept {
  switch (type) {
    case Type::f32: return running<Op, float>;
    case Type::f64: return running<Op, double>;
    case Type::i8: return running<Op, std::int8_t>;
    case Type::u8: return running<Op, std::uint8_t>;
    case Type::i16: return running<Op, std::int16_t>;
    case Type::u16: return running<Op, std::uint16_t>;
    case Type::i32: return running<Op, std::int32_t>;
    case Type::u32: return running<Op, std::uint32_t>;
    case Type::i64: return running<Op, std::int64_t>;
    case Type::u64: return running<Op, std::uint64_t>;
    case Type::f16:
    case Type::bf16: break;
  }
  return nullptr;
}

inline LineFn find_peaks(Type type) noexcept {
  return type == Type::f32 ? peaks<float> : type == Type::f64 ? peaks<double> : nullptr;
}

inline KeyFn find_keys(Type type) noexcept {
  switch (type) {
    case Type::f32: return write_keys<Real<std::uint32_t, 0x7f800000U>>;
    case Type::f64: return write_keys<Real<std::uint64_t, 0x7ff0000000000000U>>;
    case Type::f16: return write_keys<Real<std::uint16_t, 0x7c00U>>;
    case Type::bf16: return write_keys<Real<std::uint16_t, 0x7f80U>>;
    case Type::i8: return write_keys<Integer<std::int8_t>>;
    case Type::u8: return write_keys<Integer<std::uint8_t>>;
    case Type::i16: return write_keys<Integer<std::int16_t>>;
    case Type::u16: return write_keys<Integer<std::uint16_t>>;
    case Type::i32: return write_keys<Integer<std::int32_t>>;
    case Type::u32: return write_keys<Integer<std::uint32_t>>;
    case Type::i64: return write_keys<Integer<std::int64_t>>;
    case Type::u64: break;
  }
  return write_keys<Integer<std::uint64_t>>;
}

inline AboveFn find_above(bool wide) noexcept { return wide ? keys_above<std::uint64_t> : keys_above<std::uint32_t>; }

}  // namespace
}  // namespace colonnade::kernels::lines
