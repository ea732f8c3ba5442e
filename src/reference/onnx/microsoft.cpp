// SPDX-License-Identifier: Apache-2.0
// com.microsoft: operators that do not come down to core operators.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/regions.hpp"

namespace colonnade::reference {
namespace {

Types infer_inverse(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.rank_at_least(0, 2);
  if (const auto& shape = ctx.shape(0)) {
    const std::int64_t rows = shape->end()[-2], columns = shape->back();
    if (!dims_agree(rows, columns)) ctx.fail("expected square matrices, found {} x {}", rows, columns);
  }
  return {ctx.type(0)};
}

/// Gauss-Jordan elimination of [a | b] with partial pivoting; b becomes a's inverse times b. False: a is singular.
bool eliminate(std::vector<double>& a, std::vector<double>& b, std::int64_t n) {
  const auto at = [n](std::vector<double>& m, std::int64_t row, std::int64_t column) -> double& {
    return m[static_cast<std::size_t>(row * n + column)];
  };
  for (std::int64_t step = 0; step < n; ++step) {
    std::int64_t pivot = step;
    for (std::int64_t row = step + 1; row < n; ++row) {
      if (std::abs(at(a, row, step)) > std::abs(at(a, pivot, step))) pivot = row;
    }
    const double value = at(a, pivot, step);
    if (value == 0 || !std::isfinite(value)) return false;
    // columns of a before this one are zero below and left of the diagonal, and not read again
    for (std::int64_t column = step; column < n; ++column) {
      std::swap(at(a, pivot, column), at(a, step, column));
      at(a, step, column) /= value;
    }
    for (std::int64_t column = 0; column < n; ++column) {
      std::swap(at(b, pivot, column), at(b, step, column));
      at(b, step, column) /= value;
    }
    const double *of_a = &at(a, step, 0), *of_b = &at(b, step, 0);
    for (std::int64_t row = 0; row < n; ++row) {
      const double factor = at(a, row, step);
      if (row == step || factor == 0) continue;
      double *a_row = &at(a, row, 0), *b_row = &at(b, row, 0);
      for (std::int64_t column = step; column < n; ++column) a_row[column] -= factor * of_a[column];
      for (std::int64_t column = 0; column < n; ++column) b_row[column] -= factor * of_b[column];
    }
  }
  return true;
}

Data evaluate_inverse(const Opaque&, const Call& call) {
  const Tensor& x = call.input(0);
  Tensor y(x.dtype(), x.shape());
  const std::int64_t n = x.shape().back(), size = n * n;
  if (x.size() == 0) return {std::move(y)};
  std::vector<double> a(static_cast<std::size_t>(size)), b(a.size());
  for (std::int64_t offset = 0; offset < x.size(); offset += size) {
    load(x, offset, size, a.data());
    std::fill(b.begin(), b.end(), 0.0);
    for (std::int64_t i = 0; i < n; ++i) b[static_cast<std::size_t>(i * n + i)] = 1;
    if (!eliminate(a, b, n)) call.invalid("the matrix at element {} has no inverse", offset);
    store(b.data(), size, y, offset);
  }
  return {std::move(y)};
}

Types infer_crop_and_resize(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(4, 4);
  ctx.rank(0, 4);
  ctx.rank(1, 2);
  ctx.dim(1, 1, 4, "coordinates of a region");
  ctx.rank(2, 1);
  ctx.integer(2);
  ctx.vector(3, 2, "height and width");
  ctx.integer(3);
  Shape shape = unknown_shape(4);
  if (ctx.shape(1)) shape[0] = ctx.shape(1)->front();
  if (shape[0] < 0 && ctx.shape(2)) shape[0] = ctx.shape(2)->front();
  if (ctx.shape(0)) shape[1] = (*ctx.shape(0))[1];
  if (const auto size = ctx.ints(3)) {
    for (std::size_t i = 0; i < 2; ++i) {
      if ((*size)[i] < 1 || (*size)[i] > kMaxDim) ctx.fail("a crop of {} x {}", (*size)[0], (*size)[1]);
      shape[2 + i] = (*size)[i];
    }
  }
  return {{ctx.dtype(0), shape}};
}

struct Plane {
  const double* values;
  std::int64_t height, width;
  double at(std::int64_t y, std::int64_t x) const { return values[y * width + x]; }
};

using Sampler = double (*)(const Plane& plane, double y, double x);

double sample_bilinear(const Plane& plane, double y, double x) {
  const auto top = static_cast<std::int64_t>(std::floor(y)), left = static_cast<std::int64_t>(std::floor(x));
  const std::int64_t bottom = std::min(top + 1, plane.height - 1), right = std::min(left + 1, plane.width - 1);
  const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
  const double above = plane.at(top, left) + (plane.at(top, right) - plane.at(top, left)) * across;
  const double below = plane.at(bottom, left) + (plane.at(bottom, right) - plane.at(bottom, left)) * across;
  return above + (below - above) * down;
}

double sample_nearest(const Plane& plane, double y, double x) {
  return plane.at(static_cast<std::int64_t>(std::round(y)), static_cast<std::int64_t>(std::round(x)));
}

struct CropRow {
  std::int64_t rows, columns, row;
};

/// One row of the crop of a region (y1, x1, y2, x2).
void sample_line(const Plane& plane, const double* region, Sampler sample, const CropRow& crop, double outside,
                 std::vector<double>& line) {
  const auto within = [](double at, std::int64_t size) { return at >= 0 && at <= static_cast<double>(size - 1); };
  const double y = crop_point(region[0], region[2], plane.height, crop.rows, crop.row);
  for (std::int64_t column = 0; column < crop.columns; ++column) {
    const double x = crop_point(region[1], region[3], plane.width, crop.columns, column);
    const bool inside = within(y, plane.height) && within(x, plane.width);
    line[static_cast<std::size_t>(column)] = inside ? sample(plane, y, x) : outside;
  }
}

Data evaluate_crop_and_resize(const Opaque& op, const Call& call) {
  const Tensor& images = call.input(0);
  const Crop read = crop_of(op);
  const Sampler sample = read.nearest ? sample_nearest : sample_bilinear;
  const Ints chosen = call.ints(2);
  const Shape &from = images.shape(), &shape = call.shape();
  const std::int64_t channels = from[1], height = from[2], width = from[3], rows = shape[2], columns = shape[3];
  const auto pixels = load_all<double>(images), regions = load_all<double>(call.input(1));
  if (static_cast<std::int64_t>(chosen.size()) != shape[0]) {
    call.invalid("{} image numbers for {} regions", chosen.size(), shape[0]);
  }
  Tensor y(images.dtype(), shape);
  std::vector<double> line(static_cast<std::size_t>(columns));
  std::int64_t written = 0;
  for (std::size_t crop = 0; crop < chosen.size(); ++crop) {
    const double* region = regions.data() + 4 * crop;
    if (chosen[crop] < 0 || chosen[crop] >= from[0]) {
      call.invalid("image {} of {} does not exist", chosen[crop], from[0]);
    }
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const Plane plane{pixels.data() + (chosen[crop] * channels + channel) * height * width, height, width};
      for (std::int64_t row = 0; row < rows; ++row, written += columns) {
        sample_line(plane, region, sample, {rows, columns, row}, read.outside, line);
        store(line.data(), columns, y, written);
      }
    }
  }
  return {std::move(y)};
}

Types infer_repeat_block(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.rank(0, 2);
  ctx.integer(0);
  ctx.rank(1, 2);
  if (op.int_of("ngram_size") < 1) ctx.fail("attribute 'ngram_size': {} is not positive", op.int_of("ngram_size"));
  return {ctx.type(1)};
}

/// Tokens that would complete a sequence of `size` tokens which is there already score minus infinity.
Data evaluate_repeat_block(const Opaque& op, const Call& call) {
  const Tensor &tokens = call.input(0), &scores = call.input(1);
  const std::int64_t size = op.int_of("ngram_size"), length = tokens.shape()[1], words = scores.shape()[1];
  if (tokens.shape()[0] != scores.shape()[0]) {
    call.invalid("{} sequences, but scores of {}", tokens.shape()[0], scores.shape()[0]);
  }
  const auto ids = load_all<std::int64_t>(tokens);
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  Tensor y = scores;
  for (std::int64_t row = 0; row < tokens.shape()[0]; ++row) {
    const auto begin = ids.begin() + row * length, tail = begin + std::max<std::int64_t>(0, length - (size - 1));
    for (std::int64_t start = 0; start + size <= length; ++start) {
      if (!std::equal(begin + start, begin + start + size - 1, tail)) continue;
      const std::int64_t word = begin[start + size - 1];
      if (word < 0 || word >= words) call.invalid("token {} has no score among {}", word, words);
      store(&kNever, 1, y, row * words + word);
    }
  }
  return {std::move(y)};
}

Types infer_hash(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  return {{op.int_or("positive", 1) != 0 ? DType::u32 : DType::i32, ctx.shape(0)}};
}

std::uint32_t rotated(std::uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

/// MurmurHash3_x86_32 of bytes.
std::uint32_t hash_bytes(const unsigned char* bytes, std::size_t count, std::uint32_t seed) {
  std::uint32_t hash = seed;
  const auto mixed = [](std::uint32_t word) { return rotated(word * 0xcc9e2d51u, 15) * 0x1b873593u; };
  for (std::size_t i = 0; i + 4 <= count; i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes + i, 4);
    hash = rotated(hash ^ mixed(word), 13) * 5 + 0xe6546b64u;
  }
  std::uint32_t tail = 0;
  for (std::size_t i = count % 4; i-- > 0;) tail = tail << 8 | bytes[count - count % 4 + i];
  hash ^= mixed(tail) ^ static_cast<std::uint32_t>(count);
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

Data evaluate_hash(const Opaque& op, const Call& call) {
  const Tensor& x = call.input(0);
  const auto seed = static_cast<std::uint32_t>(op.int_or("seed", 0));
  Tensor y(call.dtype(), x.shape());
  auto* hashes = elements<std::uint32_t>(y);
  const bool is_text = x.dtype() == DType::string;
  const std::size_t width = is_text ? 0 : size_of(x.dtype());
  if (!is_text && width != 4 && width != 8) call.unsupported("hashes of {} are not defined", name_of(x.dtype()));
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i) {
    const auto* bytes = is_text ? reinterpret_cast<const unsigned char*>(x.strings()[i].data())
                                : static_cast<const unsigned char*>(x.data()) + i * width;
    hashes[i] = hash_bytes(bytes, is_text ? x.strings()[i].size() : width, seed);
  }
  return {std::move(y)};
}

}  // namespace

Crop crop_of(const Opaque& op) {
  const std::string mode = op.string_or("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest")
    fail(ErrorCode::invalid_model, "attribute 'mode': '{}' does not exist", mode);
  return {mode == "nearest", static_cast<double>(op.float_or("extrapolation_value", 0))};
}

double crop_point(double first, double last, std::int64_t size, std::int64_t count, std::int64_t index) {
  const double extent = static_cast<double>(size - 1);
  if (count == 1) return 0.5 * (first + last) * extent;
  return first * extent + static_cast<double>(index) * (last - first) * extent / static_cast<double>(count - 1);
}

constexpr Definition kInverse{"Inverse", infer_inverse, evaluate_inverse};
constexpr Definition kCropAndResize{"CropAndResize", infer_crop_and_resize, evaluate_crop_and_resize};
constexpr Definition kNGramRepeatBlock{"NGramRepeatBlock", infer_repeat_block, evaluate_repeat_block};
constexpr Definition kMurmurHash3{"MurmurHash3", infer_hash, evaluate_hash};

}  // namespace colonnade::reference
