// SPDX-License-Identifier: Apache-2.0
// A product of bytes of any size, its operands between unmapped pages, and what it must give.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/byte_product/byte_product.hpp"
#include "support/guarded.hpp"

namespace colonnade::test {

using kernels::byte_product::Args;
using kernels::byte_product::Kernel;
using kernels::byte_product::Output;

struct ByteSizes {
  std::size_t height_in = 1, width_in = 1, channels_in = 1, channels_out = 1;  ///< channels of a group
  std::size_t kernel_h = 1, kernel_w = 1, stride = 1, dilation = 1, pad = 0, groups = 1;
  std::size_t in_gap = 0, out_gap = 0;  ///< bytes between pixels, outputs between pixels
  Output to = Output::u8;
  int x_zero = 128;
  bool one_factor = false, shifts = true, offsets = true;
  bool tilts = false;
  bool extreme = false;  ///< all operands as large as they can be
  bool splits = false;   ///< of nine steps of four products one has weights that a kernel must split

  kernels::byte_product::Depth depth() const { return {kernel_h, kernel_w * channels_in}; }
  std::size_t k() const { return kernel_h * kernel_w * channels_in; }
  std::size_t out_of(std::size_t in, std::size_t kernel) const {
    const std::size_t reach = (kernel - 1) * dilation + 1;
    return in + 2 * pad < reach ? 0 : (in + 2 * pad - reach) / stride + 1;
  }
  std::size_t height_out() const { return out_of(height_in, kernel_h); }
  std::size_t width_out() const { return out_of(width_in, kernel_w); }
};

inline std::string describe(const ByteSizes& s) {
  std::string text;
  for (const std::size_t n :
       {s.height_in, s.width_in, s.channels_in, s.channels_out, s.kernel_h, s.kernel_w, s.stride, s.dilation, s.pad,
        s.groups, s.in_gap, s.out_gap, static_cast<std::size_t>(s.to), static_cast<std::size_t>(s.x_zero)})
    text += ' ' + std::to_string(n);
  return text;
}

class ByteCase {
 public:
  ByteCase(const ByteSizes& sizes, std::uint64_t seed) : s_(sizes), random_(seed) {
    for (std::size_t y = 0; y < s_.height_in; ++y) {
      rows_.emplace_back(s_.width_in == 0 ? 0 : (s_.width_in - 1) * in_stride() + s_.groups * s_.channels_in);
      for (std::uint8_t& x : rows_.back()) x = static_cast<std::uint8_t>(s_.extreme ? 255 : below(256));
    }
    for (std::size_t i = 0; i < outputs() * s_.k(); ++i) weights_.push_back(random_weight(i % s_.k()));
    const float scale = 100.0f / (5000.0f * std::sqrt(static_cast<float>(s_.k()) + 1));
    for (std::size_t o = 0; o < outputs(); ++o) {
      offset_.push_back(static_cast<std::int32_t>(below(4001)) - 2000);
      tilt_.push_back(!s_.tilts ? 0 : s_.extreme ? -127 : static_cast<std::int32_t>(below(256)) - 127);
      factor_.push_back(scale * static_cast<float>(1 + below(1000)) / 500.0f);
      shift_.push_back(static_cast<float>(below(1000)) / 7.0f - 70.0f);
    }
    const int least = s_.to == Output::u8 ? 0 : -128, most = least + 255;
    out_.zero = least + static_cast<int>(below(256));
    out_.low = static_cast<float>(least - out_.zero);
    out_.high = static_cast<float>(most - out_.zero);
    if (below(3) == 0) out_.low = std::max(out_.low, 0.0f);
    if (below(3) == 0) out_.high = std::min(out_.high, std::max(out_.low, 6.0f));
  }

  std::size_t value_bytes() const { return s_.to == Output::u8 || s_.to == Output::i8 ? 1 : 4; }

  /// Runs a kernel; the rows that it wrote. What it reads lies between unmapped pages.
  std::vector<Guarded<std::uint8_t>> run(const Kernel& kernel, Edge edge) {
    std::vector<Guarded<std::uint8_t>> in, out;
    for (const std::vector<std::uint8_t>& row : rows_) in.emplace_back(std::span<const std::uint8_t>(row), edge);
    std::vector<const std::uint8_t*> in_rows;
    std::vector<void*> out_rows;
    for (std::size_t y = 0; y < s_.height_out(); ++y) {
      out.emplace_back(expected(y).size(), edge);
      std::fill(out.back().values().begin(), out.back().values().end(), kUntouched);
      out_rows.push_back(out.back().data());
      for (std::size_t ky = 0; ky < s_.kernel_h; ++ky) {
        const std::size_t at = y * s_.stride + ky * s_.dilation - s_.pad;
        in_rows.push_back(at < s_.height_in ? in[at].data() : nullptr);
      }
    }
    const Guarded<std::int8_t> weights = packed(kernel, edge);
    if (!packs_) return {};
    const Guarded<std::int32_t> offset(std::span<const std::int32_t>(offset_), edge);
    const Guarded<std::int32_t> tilts(std::span<const std::int32_t>(tilt_), edge);
    const Guarded<float> factor(std::span<const float>(factor_.data(), s_.one_factor ? 1 : outputs()), edge);
    const Guarded<float> shift(std::span<const float>(shift_), edge);
    Args args = sizes_as_args();
    const Guarded<std::byte> workspace((kernel.workspace_bytes(args) + 63) / 64 * 64, edge);
    args.in_rows = in_rows.data();
    args.out_rows = out_rows.data();
    args.weights = weights.data();
    args.workspace = workspace.data();
    if (s_.tilts) args.tilts = tilts.data();
    if (s_.offsets) args.out.offset = offset.data();
    if (s_.to != Output::i32) args.out.factor = factor.data();
    if (s_.shifts && s_.to != Output::i32) args.out.shift = shift.data();
    kernel.run(args);
    intact_ = workspace.intact() && weights.intact();
    for (const auto& row : in) intact_ = intact_ && row.intact();
    for (const auto& row : out) intact_ = intact_ && row.intact();
    return out;
  }
  bool intact() const { return intact_; }
  /// Whether the kernel could have the weights.
  bool packs() const { return packs_; }

  /// The bytes of a row, those between pixels as they were.
  std::vector<std::uint8_t> expected(std::size_t y) const {
    if (s_.width_out() == 0) return {};
    std::vector<std::uint8_t> bytes((s_.width_out() - 1) * out_stride() + outputs() * value_bytes(), kUntouched);
    for (std::size_t x = 0; x < s_.width_out(); ++x)
      for (std::size_t o = 0; o < outputs(); ++o)
        put(o, sum(y, x, o), bytes.data() + x * out_stride() + o * value_bytes());
    return bytes;
  }

 protected:
  static constexpr std::uint8_t kUntouched = 0x5A;

  std::size_t outputs() const { return s_.groups * s_.channels_out; }
  const ByteSizes& sizes() const { return s_; }
  const std::vector<std::vector<std::uint8_t>>& rows() const { return rows_; }
  /// Of output o: [kernel_h][kernel_w][channels_in].
  int weight(std::size_t o, std::size_t product) const { return weights_[o * s_.k() + product] + tilt_[o]; }
  /// With pointers to what follows the sums.
  kernels::byte_product::Rescale rescale() const {
    kernels::byte_product::Rescale out = out_;
    out.to = s_.to;
    out.one_factor = s_.one_factor;
    if (s_.offsets) out.offset = offset_.data();
    if (s_.to != Output::i32) out.factor = factor_.data();
    if (s_.shifts && s_.to != Output::i32) out.shift = shift_.data();
    return out;
  }
  std::size_t in_stride() const { return s_.groups * s_.channels_in + s_.in_gap; }
  std::size_t out_stride() const { return (s_.groups * s_.channels_out + s_.out_gap) * value_bytes(); }

 private:
  std::int8_t random_weight(std::size_t product) {
    if (s_.extreme) return -128;
    const std::size_t row = s_.depth().row, row_steps = (row + 3) / 4;
    const bool is_large = !s_.splits || (product / row * row_steps + product % row / 4) % 9 == 0;
    return static_cast<std::int8_t>(is_large ? static_cast<int>(below(256)) - 128 : static_cast<int>(below(129)) - 64);
  }

  Guarded<std::int8_t> packed(const Kernel& kernel, Edge edge) {
    const std::size_t bytes = kernels::byte_product::packed_bytes(kernel.packing, s_.depth(), s_.channels_out);
    Guarded<std::int8_t> weights(s_.groups * bytes, edge);
    packs_ = true;
    for (std::size_t g = 0; g < s_.groups; ++g)
      packs_ &= kernels::byte_product::pack(weights_.data() + g * s_.channels_out * s_.k(), 1,
                                            static_cast<std::ptrdiff_t>(s_.k()), s_.depth(), s_.channels_out,
                                            kernel.packing, weights.data() + g * bytes);
    return weights;
  }

  /// All but the pointers.
  Args sizes_as_args() const {
    Args args;
    args.rows = s_.height_out();
    args.width_in = s_.width_in;
    args.width_out = s_.width_out();
    args.kernel_h = s_.kernel_h;
    args.kernel_w = s_.kernel_w;
    args.stride_w = s_.stride;
    args.dilation_w = s_.dilation;
    args.pad_left = s_.pad;
    args.channels_in = s_.channels_in;
    args.channels_out = s_.channels_out;
    args.in_pixel_stride = static_cast<std::ptrdiff_t>(in_stride());
    args.out_pixel_stride = static_cast<std::ptrdiff_t>(out_stride());
    args.x_zero = static_cast<std::uint8_t>(s_.x_zero);
    args.groups = s_.groups;
    args.out = out_;
    args.out.to = s_.to;
    args.out.one_factor = s_.one_factor;
    return args;
  }

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  std::int32_t sum(std::size_t y, std::size_t x, std::size_t o) const {
    std::int64_t total = s_.offsets ? offset_[o] : 0;
    const std::size_t first = o / s_.channels_out * s_.channels_in;
    const std::int8_t* weight = weights_.data() + o * s_.k();
    for (std::size_t ky = 0; ky < s_.kernel_h; ++ky)
      for (std::size_t kx = 0; kx < s_.kernel_w; ++kx, weight += s_.channels_in) {
        const std::size_t v = y * s_.stride + ky * s_.dilation, u = x * s_.stride + kx * s_.dilation;
        if (v < s_.pad || v - s_.pad >= s_.height_in || u < s_.pad || u - s_.pad >= s_.width_in) continue;
        const std::uint8_t* pixel = rows_[v - s_.pad].data() + (u - s_.pad) * in_stride() + first;
        for (std::size_t c = 0; c < s_.channels_in; ++c) total += (pixel[c] - s_.x_zero) * (weight[c] + tilt_[o]);
      }
    return static_cast<std::int32_t>(total);
  }

  void put(std::size_t o, std::int32_t sum, std::uint8_t* to) const {
    if (s_.to == Output::i32) {
      std::memcpy(to, &sum, sizeof sum);
      return;
    }
    const float v = std::fma(static_cast<float>(sum), factor_[s_.one_factor ? 0 : o], s_.shifts ? shift_[o] : 0.0f);
    if (s_.to == Output::f32) {
      std::memcpy(to, &v, sizeof v);
      return;
    }
    const float rounded = std::min(std::max(std::nearbyint(v), out_.low), out_.high);
    *to = static_cast<std::uint8_t>(static_cast<std::int32_t>(rounded) + out_.zero);
  }

  ByteSizes s_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::uint8_t>> rows_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int32_t> offset_, tilt_;
  std::vector<float> factor_, shift_;
  kernels::byte_product::Rescale out_;
  bool intact_ = true;
  bool packs_ = true;
};

}  // namespace colonnade::test
