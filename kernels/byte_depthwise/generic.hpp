// SPDX-License-Identifier: Apache-2.0
// The loops of every tier. A column of four input rows is interleaved into quads while it is loaded, for all outputs
// of a tile that read it: those of one row, or of two that share input rows. Four taps of an output are then one sum of
// products. A tile is made in halves, of two of the four registers of quads.
#pragma once

#include "kernels/base/apart.hpp"
#include "kernels/byte_depthwise/parameters.hpp"

namespace colonnade::kernels::byte_depthwise {
namespace {

// As those of depthwise: sanitizers check what a tile calls.
#define COLONNADE_TILE __attribute__((no_sanitize("address", "undefined")))

/// Outputs of a row that are computed together.
inline constexpr int kTile = kMostLanes == 4 ? 4 : 2;

/// A block of one or two output rows.
struct Task {
  const Args& a;
  Block block;
  std::size_t row;
  const std::uint8_t* const*
      in;  ///< a pixel of the input, the first of the padding's left: [group][row of it], or null
  std::size_t groups;
  const std::byte* upper;  ///< weights
  const std::byte* lower;
  const std::uint8_t* outside;
  bool is_whole;  ///< output bytes are from 0 to 255, and stand for themselves
};

inline std::ptrdiff_t first_column(const Args& a, std::size_t x) {
  return static_cast<std::ptrdiff_t>(x * a.stride_w) - static_cast<std::ptrdiff_t>(a.pad_left);
}

/// Where a column of four input rows lies; null rows stay at `outside`, and so do columns that do not exist, where that
/// is Checked.
template <bool Checked>
struct Cursor {
  const std::uint8_t* row[kGroup];
  std::ptrdiff_t hop[kGroup];  ///< bytes to the next column
  std::ptrdiff_t column, columns, end;
  const std::uint8_t* outside;

  /// From `first` on, `step` columns at a time.
  Cursor(const Task& t, std::size_t group, std::ptrdiff_t first, std::ptrdiff_t step)
      : column(first), columns(step), end(static_cast<std::ptrdiff_t>(t.a.width_in)), outside(t.outside) {
    for (std::size_t i = 0; i < kGroup; ++i) {
      const std::uint8_t* in = t.in[group * kGroup + i];
      row[i] = in == nullptr ? outside : in + first * t.a.in_pixel_stride;
      hop[i] = in == nullptr ? 0 : step * t.a.in_pixel_stride;
    }
  }

  template <int I>
  const std::uint8_t* at() const {
    return !Checked || (column >= 0 && column < end) ? row[I] : outside;
  }

  void next() {
    for (std::size_t i = 0; i < kGroup; ++i) {
      row[i] += hop[i];
      asm("" : "+r"(row[i]));  // else GCC gives each column of a tile an address of its own and spills them
    }
    column += columns;
  }
};

/// Quads [quad, quad + 2) of a column, of its first rows at least; quad is 0 or 2.
template <class V, bool Checked>
inline __attribute__((always_inline)) void load_quads(Cursor<Checked>& in, std::size_t bytes, std::size_t rows,
                                                      int quad, typename V::Int (&quads)[2]) {
  const auto a = get<V>(in.template at<0>(), bytes);
  const auto b = rows > 1 ? get<V>(in.template at<1>(), bytes) : a;
  const auto c = rows > 2 ? get<V>(in.template at<2>(), bytes) : a;
  const auto d = rows > 3 ? get<V>(in.template at<3>(), bytes) : a;
  const auto upper = quad == 0 ? V::low8(a, b) : V::high8(a, b);
  const auto lower = quad == 0 ? V::low8(c, d) : V::high8(c, d);
  quads[0] = V::low16(upper, lower);
  quads[1] = V::high16(upper, lower);
  in.next();
}

template <class V>
inline __attribute__((always_inline)) typename V::Int add_taps(typename V::Int sum, typename V::Int quads,
                                                               const typename V::Int* weights) {
  if constexpr (kParts == 1)
    return V::add_quads(sum, quads, weights[0]);
  else
    return V::add_pairs(V::add_pairs(sum, V::even8(quads), weights[0]), V::odd8(quads), weights[1]);
}

/// Adds tap `kx` of one group to the sums of T outputs of R rows.
template <class V, int R, int T>
inline __attribute__((always_inline)) void add_tap(const std::byte* const (&weights)[2],
                                                   const typename V::Int (&window)[T][2],
                                                   typename V::Int (&sums)[R][T][2]) {
  constexpr int kBytes = static_cast<int>(kLaneBytes) * V::kLanes;
#pragma GCC unroll 2
  for (int q = 0; q < 2; ++q) {
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      typename V::Int w[kParts];
#pragma GCC unroll 2
      for (int i = 0; i < kParts; ++i) w[i] = V::load(weights[r] + (q * kParts + i) * kBytes);
#pragma GCC unroll 8
      for (int x = 0; x < T; ++x) sums[r][x][q] = add_taps<V>(sums[r][x][q], window[x][q], w);
    }
  }
}

/// The window of a tile: square and without dilation where Size is not 0, else as the arguments have it.
template <int Size, int Stride>
struct Window {
  static std::size_t width(const Args& a) { return Size ? Size : a.kernel_w; }
  static std::size_t stride(const Args& a) { return Size ? Stride : a.stride_w; }
  static std::size_t dilation(const Args& a) { return Size ? 1 : a.dilation_w; }
  static std::size_t groups(const Task& t, std::size_t outputs) {
    return Size ? (Size + outputs - 1 + kGroup - 1) / kGroup : t.groups;
  }
  /// Of a group, that are read.
  static std::size_t rows(std::size_t group, std::size_t outputs) {
    const std::size_t rest = Size + outputs - 1 - group * kGroup;
    return Size && rest < kGroup ? rest : kGroup;
  }
  static bool is(const Args& a) {
    return Size == 0 || (a.kernel_w == Size && a.kernel_h == Size && a.stride_w == Stride && a.dilation_w == 1);
  }
};

/// Sums of T outputs of R rows, from the column `first` on, for quads [quad, quad + 2). Taps that read the same columns
/// a few outputs apart follow each other, so that a column is interleaved once for them.
template <class V, class W, int R, int T, bool Checked>
COLONNADE_TILE inline __attribute__((always_inline)) void add_up(const Task& t, std::ptrdiff_t first, int quad,
                                                                 typename V::Int (&sums)[R][T][2]) {
  constexpr std::size_t kBytes = kLaneBytes * V::kLanes, kTap = kQuads * kParts * kBytes;
  const Args& a = t.a;
  const std::size_t n = t.block.count, width = W::width(a), stride = W::stride(a), dilation = W::dilation(a);
  const std::size_t phases = dilation == 1 && stride < width ? stride : width;
  const std::size_t groups = W::groups(t, R);
#pragma GCC unroll 2
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t rows = W::rows(g, R);
    const std::size_t at = g * width * kTap + static_cast<std::size_t>(quad) * kParts * kBytes;
#pragma GCC unroll 2
    for (std::size_t phase = 0; phase < phases; ++phase) {
      const std::byte* weights[2] = {t.upper + at + phase * kTap, t.lower + at + phase * kTap};
      Cursor<Checked> in(t, g, first + static_cast<std::ptrdiff_t>(phase * dilation),
                         static_cast<std::ptrdiff_t>(stride));
      typename V::Int window[T][2];
#pragma GCC unroll 8
      for (int x = 0; x + 1 < T; ++x) load_quads<V>(in, n, rows, quad, window[x]);
#pragma GCC unroll 5
      for (std::size_t kx = phase; kx < width; kx += phases) {
        load_quads<V>(in, n, rows, quad, window[T - 1]);
        add_tap<V, R, T>(weights, window, sums);
#pragma GCC unroll 8
        for (int x = 0; x + 1 < T; ++x) window[x][0] = window[x + 1][0], window[x][1] = window[x + 1][1];
        for (std::size_t r = 0; r < R; ++r) weights[r] += phases * kTap;
      }
    }
  }
}

template <class V, int R, int T>
inline __attribute__((always_inline)) void start(const Parameters& p, int quad, typename V::Int (&sums)[R][T][2]) {
  constexpr int kInts = static_cast<int>(kGroup) * V::kLanes;
#pragma GCC unroll 32
  for (int i = 0; i < R * T * 2; ++i) sums[i / 2 / T][i / 2 % T][i % 2] = V::load(p.offset + (quad + i % 2) * kInts);
}

/// Two registers of quads as words.
template <class V>
inline __attribute__((always_inline)) typename V::Int words_of(const typename V::Int (&sums)[2], const Parameters& p,
                                                               int quad) {
  constexpr int kFloats = static_cast<int>(kGroup) * V::kLanes;
  typename V::Int rounded[2];
#pragma GCC unroll 2
  for (int q = 0; q < 2; ++q) {
    rounded[q] = V::round(
        V::fma(V::number(sums[q]), V::load(p.factor + (quad + q) * kFloats), V::load(p.shift + (quad + q) * kFloats)));
  }
  return V::pack32(rounded[0], rounded[1]);
}

/// Words of T outputs of R rows from x on as bytes. Whole: from 0 to 255, and they stand for themselves.
template <class V, int R, int T, bool Whole>
inline __attribute__((always_inline)) void write_bytes(const Task& t, const typename V::Int (&words)[2][R][T],
                                                       std::size_t x) {
  using Int = typename V::Int;
  const Args& a = t.a;
  const ByteRange range = byte_range(a.out);
  const Int zero = V::every16(range.zero), sign = V::every8(range.sign);
  const Int least = V::every8(range.least), most = V::every8(range.most);
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) {
    std::byte* out = a.out_rows[t.row + static_cast<std::size_t>(r)] +
                     static_cast<std::ptrdiff_t>(x) * a.out_pixel_stride + t.block.channel;
#pragma GCC unroll 8
    for (int i = 0; i < T; ++i, out += a.out_pixel_stride) {
      Int low = words[0][r][i], high = words[1][r][i];
      if constexpr (!Whole) low = V::add16(low, zero), high = V::add16(high, zero);
      Int bytes = V::pack16(low, high);
      if constexpr (!Whole) bytes = V::flip(V::min8(V::max8(bytes, least), most), sign);
      put<V>(out, bytes, t.block.count);
    }
  }
}

/// T outputs of R rows from x on as bytes, the first column at `first`. Inlined, its registers are spilled by GCC.
template <class V, class W, int R, int T, bool Checked>
COLONNADE_TILE __attribute__((noinline)) void bytes_tile(const Task& t, const Parameters& p, std::size_t x,
                                                         std::ptrdiff_t first) {
  using Int = typename V::Int;
  Int words[2][R][T];
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    Int sums[R][T][2];
    asm("" ::: "memory");  // else GCC keeps what it loaded for the first half
    start<V>(p, 2 * half, sums);
    add_up<V, W, R, T, Checked>(t, first, 2 * half, sums);
#pragma GCC unroll 16
    for (int i = 0; i < R * T; ++i) words[half][i / T][i % T] = words_of<V>(sums[i / T][i % T], p, 2 * half);
  }
  if (t.is_whole) [[likely]]
    write_bytes<V, R, T, true>(t, words, x);
  else
    write_bytes<V, R, T, false>(t, words, x);
}

/// One output of R rows, whatever it becomes.
template <class V, int R>
COLONNADE_TILE void any_tile(const Task& t, const Parameters& p, std::size_t x, std::ptrdiff_t first) {
  constexpr int kInts = static_cast<int>(kGroup) * V::kLanes;
  alignas(64) std::int32_t stored[R][kQuads * kInts];
  for (int half = 0; half < 2; ++half) {
    typename V::Int sums[R][1][2];
    start<V>(p, 2 * half, sums);
    add_up<V, Window<0, 0>, R, 1, true>(t, first, 2 * half, sums);
    for (int i = 0; i < R * 2; ++i) V::store(stored[i / 2] + (2 * half + i % 2) * kInts, sums[i / 2][0][i % 2]);
  }
  for (std::size_t r = 0; r < R; ++r) {
    std::byte* out = t.a.out_rows[t.row + r] + static_cast<std::ptrdiff_t>(x) * t.a.out_pixel_stride;
    write_any(t.a, t.block, p, stored[r], out);
  }
}

template <class V, class W, int R>
void bytes_rows(const Task& t, const Parameters& p) {
  const Args& a = t.a;
  const auto width = static_cast<std::ptrdiff_t>(a.width_in), step = static_cast<std::ptrdiff_t>(a.stride_w);
  const auto reach = (kTile - 1) * step + static_cast<std::ptrdiff_t>((a.kernel_w - 1) * a.dilation_w);
  for (std::size_t begin = 0; begin < a.width_out; begin += kTile) {
    const std::size_t x = a.width_out - begin < kTile ? a.width_out - kTile : begin;
    const std::ptrdiff_t first = first_column(a, x);
    if (first >= 0 && first + reach < width)
      bytes_tile<V, W, R, kTile, false>(t, p, x, first);
    else
      bytes_tile<V, W, R, kTile, true>(t, p, x, first);
  }
}

/// Rows that are too narrow for tiles, or not of bytes.
template <class V, int R, bool Bytes>
void single_pixels(const Task& t, const Parameters& p) {
  for (std::size_t x = 0; x < t.a.width_out; ++x) {
    if constexpr (Bytes)
      bytes_tile<V, Window<0, 0>, R, 1, true>(t, p, x, first_column(t.a, x));
    else
      any_tile<V, R>(t, p, x, first_column(t.a, x));
  }
}

template <class V, int R>
void run_rows(const Task& t, const Parameters& p) {
  const Args& a = t.a;
  const auto run = [&]<class W>(W) { bytes_rows<V, W, R>(t, p); };
  if (size_of(a.out.type) != 1 || !p.fit) return single_pixels<V, R, false>(t, p);
  if (a.width_out < kTile) return single_pixels<V, R, true>(t, p);
  if constexpr (V::kLanes > 1) {
    if (Window<3, 1>::is(a)) return run(Window<3, 1>());
    if (Window<5, 1>::is(a)) return run(Window<5, 1>());
    if constexpr (R == 1) {
      if (Window<3, 2>::is(a)) return run(Window<3, 2>());
      if (Window<5, 2>::is(a)) return run(Window<5, 2>());
    }
  }
  run(Window<0, 0>());
}

/// Whether output row `row` + 1 reads the input rows of `row` moved by one.
inline bool shares_rows(const Args& a, std::size_t row) {
  if (row + 1 >= a.rows || a.kernel_h < 2) return false;
  const std::uint8_t* const* rows = a.in_rows + row * a.kernel_h;
  for (std::size_t ky = 0; ky + 1 < a.kernel_h; ++ky)
    if (rows[a.kernel_h + ky] != rows[ky + 1]) return false;
  return true;
}

/// The rows of the input that output rows [row, row + rows) read, those of the last group that they do not read
/// repeated.
inline std::size_t gather_rows(const Args& a, std::size_t row, std::size_t rows, std::size_t channel,
                               const std::uint8_t** in) {
  const std::size_t needed = a.kernel_h + rows - 1, groups = (needed + kGroup - 1) / kGroup;
  for (std::size_t y = 0; y < groups * kGroup; ++y) {
    const std::size_t at = y < a.kernel_h ? y : (rows - 1) * a.kernel_h + a.kernel_h - 1;
    const std::uint8_t* from = a.in_rows[row * a.kernel_h + at];
    in[y] = from ? from + channel : nullptr;
  }
  return groups;
}

template <class V>
void run_block(const Args& a, const Block& block, const std::byte* weights, const Parameters& p) {
  const std::byte* upper = weights + 2 * sizeof(std::int32_t) * block.bytes();
  const std::byte* lower = upper + row_weights_bytes(block, a.kernel_h, a.kernel_w);
  alignas(64) std::uint8_t outside[64];
  std::memset(outside, a.x_zero, sizeof outside);
  const ByteRange range = byte_range(a.out);
  const bool is_whole = range.zero == 0 && range.least == 0 && range.most == 255 && range.sign == 0;
  for (std::size_t row = 0; row < a.rows;) {
    const std::size_t rows = shares_rows(a, row) ? 2 : 1;
    const std::size_t groups = gather_rows(a, row, rows, block.channel, a.row_room);
    const Task task{a, block, row, a.row_room, groups, upper, lower, outside, is_whole};
    rows == 2 ? run_rows<V, 2>(task, p) : run_rows<V, 1>(task, p);
    row += rows;
  }
}

/// A dilated kernel that has loops of its own once columns that it never reads together are apart, and tiles of those.
inline bool comes_apart(const Args& a) {
  Args part = a;
  part.dilation_w = 1;
  const bool has_loops = kMostLanes > 1 && (Window<3, 1>::is(part) || Window<5, 1>::is(part));
  return has_loops && a.dilation_w > 1 && a.width_out >= kTile * a.dilation_w;
}

inline void run_generic(const Args& a) noexcept {
  if (comes_apart(a)) return run_apart<5>(a, run_generic);
  const std::byte* weights = a.weights;
  const auto* parameters = reinterpret_cast<const Parameters*>(a.numbers);
  each_block(a.channels, [&](const Block& block) {
    with_lanes(block.lanes, block.count,
               [&](auto registers) { run_block<decltype(registers)>(a, block, weights, *parameters); });
    weights += block_weights_bytes(block, a.kernel_h, a.kernel_w);
    ++parameters;
  });
}

#undef COLONNADE_TILE

}  // namespace
}  // namespace colonnade::kernels::byte_depthwise
