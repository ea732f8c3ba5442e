// SPDX-License-Identifier: Apache-2.0
// Col2Im, DeformConv, MaxUnpool.
#include "reference/onnx/sliding.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

/// A window's attribute: `count` values in [least, kMaxDim], or `count` times the fallback where it is not given.
Ints window_ints(const Opaque& op, std::string_view name, std::size_t count, std::int64_t fallback,
                 std::int64_t least) {
  Ints values = op.ints_or(name);
  if (values.empty()) values.assign(count, fallback);
  const auto in_range = [&](std::int64_t value) { return value >= least && value <= kMaxDim; };
  if (values.size() != count || !std::all_of(values.begin(), values.end(), in_range)) {
    fail(ErrorCode::invalid_model, "attribute '{}': expected {} values of at least {}", name, count, least);
  }
  return values;
}

// Col2Im: inputs columns [N, C * taps, positions], image shape, block shape.

void check_sizes(const RuleContext& ctx, const Ints& sizes, std::string_view what) {
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > kMaxDim) ctx.fail("the {} holds {}", what, size);
  }
}

Types infer_col2im(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(3, 3);
  ctx.rank(0, 3);
  const std::optional<Ints> image = ctx.ints(1), block = ctx.ints(2);
  std::optional<std::int64_t> axes = ctx.length_as_rank(1);
  if (!axes) axes = ctx.length_as_rank(2);
  if (!axes) return {{ctx.dtype(0), std::nullopt}};
  ctx.vector(1, *axes, "the image's axes");
  ctx.vector(2, *axes, "the image's axes");
  sliding(op, Ints(static_cast<std::size_t>(*axes), 1));
  Shape shape = unknown_shape(*axes + 2);
  if (ctx.shape(0)) shape[0] = (*ctx.shape(0))[0];
  if (image) {
    check_sizes(ctx, *image, "image shape");
    std::copy(image->begin(), image->end(), shape.begin() + 2);
  }
  if (!block) return {{ctx.dtype(0), shape}};
  check_sizes(ctx, *block, "block shape");
  std::int64_t taps = 1, positions = 1;
  for (const std::int64_t size : *block) taps = checked_mul(taps, size);
  if (const std::int64_t rows = ctx.shape(0) ? (*ctx.shape(0))[1] : kUnknownDim; rows >= 0) {
    if (rows % taps != 0) ctx.fail("expected a multiple of {} rows of columns, found {}", taps, rows);
    shape[1] = rows / taps;
  }
  if (!image) return {{ctx.dtype(0), shape}};
  const Sliding window = sliding(op, *block);
  for (std::size_t axis = 0; axis < image->size(); ++axis) {
    positions = checked_mul(positions, window.positions(axis, (*image)[axis]));
  }
  ctx.dim(0, 2, positions, "the positions of the block");
  return {{ctx.dtype(0), shape}};
}

Data evaluate_col2im(const Opaque& op, const Call& call) {
  const Ints image = call.ints(1), block = call.ints(2);
  const Sliding window = sliding(op, block);
  const Tensor& columns = call.input(0);
  const Shape& shape = call.shape();
  const std::int64_t pixels = product(image, 0, image.size());
  Ints grid;
  for (std::size_t axis = 0; axis < image.size(); ++axis) grid.push_back(window.positions(axis, image[axis]));
  const Ints steps = strides_of(image);
  const std::vector<double> x = load_all<double>(columns);
  std::vector<double> y(static_cast<std::size_t>(element_count(shape)), 0);
  if (x.empty()) return {tensor_of(call.dtype(), shape, y)};
  std::size_t from = 0;
  for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    Ints tap(block.size(), 0);
    do {
      Ints position(grid.size(), 0);
      do {
        std::int64_t to = plane * pixels;
        bool inside = true;
        for (std::size_t axis = 0; axis < grid.size(); ++axis) {
          const std::int64_t at = window.pixel(axis, position[axis], tap[axis]);
          inside = inside && at >= 0 && at < image[axis];
          to += at * steps[axis];
        }
        if (inside) y[static_cast<std::size_t>(to)] += x[from];
        ++from;
      } while (next_index(position, grid));
    } while (next_index(tap, block));
  }
  return {tensor_of(call.dtype(), shape, y)};
}

// DeformConv: inputs x [N, C, H, W], weight [O, C / groups, kernel], offset [N, 2 * offset groups * taps, H', W'], bias
// [O] or absent, mask [N, offset groups * taps, H', W'] or absent.

Types infer_deform(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(3, 5);
  if (ctx.shape(0) && ctx.shape(0)->size() != 4) {
    fail(ErrorCode::unsupported, "node '{}' (DeformConv): only two spatial axes are supported", ctx.node().name);
  }
  ctx.rank(1, 4);
  ctx.rank(2, 4);
  const Shape x = ctx.shape(0).value_or(unknown_shape(4)), weight = ctx.shape(1).value_or(unknown_shape(4));
  ctx.vector(3, weight[0], "the outputs");
  Shape y = {x[0], weight[0], kUnknownDim, kUnknownDim};
  if (weight[2] < 1 || weight[3] < 1) return {{ctx.dtype(0), y}};
  const Deformed read = deformed(op, weight);
  if (weight[1] >= 0) ctx.dim(0, 1, checked_mul(weight[1], read.groups), "the weight's channels");
  const bool divides = (weight[0] < 0 || weight[0] % read.groups == 0) && (x[1] < 0 || x[1] % read.offset_groups == 0);
  if (!divides) ctx.fail("{} and {} groups do not divide the channels", read.groups, read.offset_groups);
  const std::int64_t masks = checked_mul(read.offset_groups, read.taps());
  ctx.dim(2, 1, checked_mul(2, masks), "two offsets a tap");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (x[axis + 2] >= 0) y[axis + 2] = read.window.positions(axis, x[axis + 2]);
    ctx.dim(2, axis + 2, y[axis + 2], "the output");
  }
  ctx.dim(2, 0, x[0], "the batch");
  if (ctx.has(4)) {
    ctx.rank(4, 4);
    const Shape mask = {x[0], masks, y[2], y[3]};
    for (std::size_t axis = 0; axis < 4; ++axis) ctx.dim(4, axis, mask[axis], "the mask");
  }
  return {{ctx.dtype(0), y}};
}

/// The image between its pixels; zero outside.
double interpolated(const double* plane, std::int64_t height, std::int64_t width, double y, double x) {
  if (!(y > -1) || !(x > -1) || y >= static_cast<double>(height) || x >= static_cast<double>(width)) return 0;
  const auto top = static_cast<std::int64_t>(std::floor(y)), left = static_cast<std::int64_t>(std::floor(x));
  const double down = y - static_cast<double>(top), right = x - static_cast<double>(left);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return row < 0 || column < 0 || row >= height || column >= width ? 0 : plane[row * width + column];
  };
  return (1 - down) * ((1 - right) * at(top, left) + right * at(top, left + 1)) +
         down * ((1 - right) * at(top + 1, left) + right * at(top + 1, left + 1));
}

/// One batch entry: what the taps of every position see.
struct DeformedImage {
  const double* x;
  const double* offset;
  const double* mask;  // or null
  const Shape& in;
  const Shape& out;
};

/// Rows of [channel, tap]: what each position of the output sees there.
std::vector<double> deformed_columns(const Deformed& read, const DeformedImage& image) {
  const std::int64_t channels = image.in[1], positions = image.out[2] * image.out[3];
  const std::int64_t per_group = channels / read.offset_groups;
  std::vector<double> columns;
  columns.reserve(static_cast<std::size_t>(checked_mul(checked_mul(channels, read.taps()), positions)));
  for (std::int64_t c = 0; c < channels; ++c) {
    const double* plane = image.x + c * image.in[2] * image.in[3];
    for (std::int64_t tap = 0; tap < read.taps(); ++tap) {
      const std::int64_t moved = c / per_group * read.taps() + tap;
      for (std::int64_t p = 0; p < positions; ++p) {
        const std::int64_t row = read.window.pixel(0, p / image.out[3], tap / read.window.kernel[1]);
        const std::int64_t column = read.window.pixel(1, p % image.out[3], tap % read.window.kernel[1]);
        const double y = static_cast<double>(row) + image.offset[2 * moved * positions + p];
        const double x = static_cast<double>(column) + image.offset[(2 * moved + 1) * positions + p];
        const double weight = image.mask != nullptr ? image.mask[moved * positions + p] : 1;
        columns.push_back(weight * interpolated(plane, image.in[2], image.in[3], y, x));
      }
    }
  }
  return columns;
}

Data evaluate_deform(const Opaque& op, const Call& call) {
  const Shape &in = call.input(0).shape(), &weight_shape = call.input(1).shape(), &out = call.shape();
  const Deformed read = deformed(op, weight_shape);
  const std::vector<double> x = load_all<double>(call.input(0)), weight = load_all<double>(call.input(1)),
                            offset = load_all<double>(call.input(2));
  const std::vector<double> bias = call.optional(3) ? load_all<double>(*call.optional(3)) : std::vector<double>();
  const std::vector<double> mask = call.optional(4) ? load_all<double>(*call.optional(4)) : std::vector<double>();
  const std::int64_t positions = out[2] * out[3], rows = weight_shape[1] * read.taps();
  const std::int64_t moved = read.offset_groups * read.taps() * positions;
  std::vector<double> y(static_cast<std::size_t>(element_count(out)), 0);
  for (std::int64_t n = 0; !y.empty() && n < out[0]; ++n) {
    const std::vector<double> columns =
        deformed_columns(read, {x.data() + n * in[1] * in[2] * in[3], offset.data() + n * 2 * moved,
                                mask.empty() ? nullptr : mask.data() + n * moved, in, out});
    for (std::int64_t o = 0; o < out[1]; ++o) {
      double* sums = y.data() + (n * out[1] + o) * positions;
      if (!bias.empty()) std::fill_n(sums, positions, bias[static_cast<std::size_t>(o)]);
      const std::int64_t first = o / (out[1] / read.groups) * rows;
      for (std::int64_t row = 0; row < rows; ++row) {
        const double* seen = columns.data() + (first + row) * positions;
        const double factor = weight[static_cast<std::size_t>(o * rows + row)];
        for (std::int64_t p = 0; p < positions; ++p) sums[p] += factor * seen[p];
      }
    }
  }
  return {tensor_of(call.dtype(), out, y)};
}

// MaxUnpool: inputs x, indices into the pooled tensor, its shape or absent.

Types infer_unpool(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(2, 3);
  ctx.rank_at_least(0, 3);
  ctx.dtype_is(1, DType::i64);
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  const Shape& x = *ctx.shape(0);
  ctx.rank(1, x.size());
  for (std::size_t axis = 0; axis < x.size(); ++axis) ctx.dim(1, axis, x[axis], "one index an element");
  Shape shape = unpooled_shape(op, x);
  if (!ctx.has(2)) return {{ctx.dtype(0), shape}};
  ctx.vector(2, rank_of(x), "the output's shape");
  const std::optional<Ints> given = ctx.ints(2);
  if (!given) return {{ctx.dtype(0), unknown_shape(rank_of(x))}};
  for (const std::int64_t dim : *given) {
    if (dim < 0 || dim > kMaxDim) ctx.fail("the output's shape holds {}", dim);
  }
  return {{ctx.dtype(0), *given}};
}

Data evaluate_unpool(const Opaque& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Shape natural = unpooled_shape(op, x.shape()), &shape = call.shape();
  const std::int64_t limit = element_count(natural);
  const bool same = natural == shape;
  const Ints steps = strides_of(natural), strides = strides_of(shape);
  const std::span indices(elements<std::int64_t>(call.input(1)), static_cast<std::size_t>(call.input(1).size()));
  Tensor y(x.dtype(), shape);
  visit_storage(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = elements<T>(x);
    T* to = elements<T>(y);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= limit) call.invalid("index {} is out of range [0,{})", indices[i], limit);
      std::int64_t place = same ? indices[i] : 0;
      for (std::size_t axis = 0; !same && axis < shape.size(); ++axis) {
        const std::int64_t at = indices[i] / steps[axis] % natural[axis];
        if (at >= shape[axis]) call.invalid("index {} lies outside the given output shape", indices[i]);
        place += at * strides[axis];
      }
      to[place] = from[i];
    }
  });
  return {std::move(y)};
}

}  // namespace

std::int64_t Sliding::positions(std::size_t axis, std::int64_t size) const {
  const std::int64_t padded = checked_add(size, pads[axis] + pads[axis + kernel.size()]);
  const std::int64_t extent = checked_add(checked_mul(kernel[axis] - 1, dilations[axis]), 1);
  return padded < extent ? 0 : (padded - extent) / strides[axis] + 1;
}

Sliding sliding(const Opaque& op, Ints kernel) {
  const std::size_t axes = kernel.size();
  return {std::move(kernel), window_ints(op, "strides", axes, 1, 1), window_ints(op, "dilations", axes, 1, 1),
          window_ints(op, "pads", 2 * axes, 0, 0)};
}

Deformed deformed(const Opaque& op, const Shape& weight) {
  const Ints kernel = op.has("kernel_shape") ? op.ints_or("kernel_shape") : Ints(weight.begin() + 2, weight.end());
  if (kernel.size() != 2 || kernel[0] != weight[2] || kernel[1] != weight[3]) {
    fail(ErrorCode::invalid_model, "attribute 'kernel_shape' is not the weight's");
  }
  Deformed read{sliding(op, kernel), op.int_or("group", 1), op.int_or("offset_group", 1)};
  if (read.groups < 1 || read.groups > kMaxDim || read.offset_groups < 1 || read.offset_groups > kMaxDim) {
    fail(ErrorCode::invalid_model, "expected positive groups, found {} and {}", read.groups, read.offset_groups);
  }
  return read;
}

Shape unpooled_shape(const Opaque& op, const Shape& pooled) {
  const std::size_t axes = pooled.size() - 2;
  const Ints kernel = window_ints(op, "kernel_shape", axes, 0, 1);
  const Ints strides = window_ints(op, "strides", axes, 1, 1), pads = window_ints(op, "pads", 2 * axes, 0, 0);
  Shape shape = pooled;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::int64_t& dim = shape[axis + 2];
    if (dim < 0) continue;
    dim = checked_add(checked_mul(dim - 1, strides[axis]), kernel[axis] - pads[axis] - pads[axis + axes]);
    if (dim < 0 || dim > kMaxDim) fail(ErrorCode::invalid_model, "its window gives a size of {}", dim);
  }
  return shape;
}

constexpr Definition kCol2Im{"Col2Im", infer_col2im, evaluate_col2im};
constexpr Definition kDeformConv{"DeformConv", infer_deform, evaluate_deform};
constexpr Definition kMaxUnpool{"MaxUnpool", infer_unpool, evaluate_unpool};

}  // namespace colonnade::reference
