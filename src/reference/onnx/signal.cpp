// SPDX-License-Identifier: Apache-2.0
// DFT, STFT, MelWeightMatrix.
#include "reference/onnx/signal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/attributes.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

/// exp(-2 pi i k / n)
Complex root_of_unity(std::size_t k, std::size_t n) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

/// The discrete Fourier transform of one length, in O(n log n) for any of them: halving where the length is a power of
/// two, else as a convolution of such a length with a chirp (Bluestein).
class Fourier {
 public:
  explicit Fourier(std::size_t length) : length_(length), padded_(std::bit_ceil(length)) {
    if (padded_ != length_) {
      padded_ = std::bit_ceil(2 * length_ - 1);
      make_chirp();
    }
    for (std::size_t k = 0; k < padded_ / 2; ++k) roots_.push_back(root_of_unity(k, padded_));
    if (!kernel_.empty()) halve(kernel_);
  }

  /// x has the length, and becomes its transform; without the division by the length when inverse.
  void transform(Signal& x, bool inverse) const {
    if (inverse) conjugate(x);
    if (kernel_.empty()) {
      halve(x);
    } else {
      convolve(x);
    }
    if (inverse) conjugate(x);
  }

 private:
  static void conjugate(Signal& x) {
    for (Complex& value : x) value = std::conj(value);
  }

  void make_chirp() {
    kernel_.assign(padded_, 0);
    for (std::size_t k = 0; k < length_; ++k) {
      chirp_.push_back(root_of_unity(k * k % (2 * length_), 2 * length_));
      kernel_[k] = std::conj(chirp_[k]);
      if (k > 0) kernel_[padded_ - k] = kernel_[k];
    }
  }

  void convolve(Signal& x) const {
    Signal padded(padded_, 0);
    for (std::size_t k = 0; k < length_; ++k) padded[k] = x[k] * chirp_[k];
    halve(padded);
    for (std::size_t k = 0; k < padded_; ++k) padded[k] = std::conj(padded[k] * kernel_[k]);
    halve(padded);
    for (std::size_t k = 0; k < length_; ++k) {
      x[k] = std::conj(padded[k]) / static_cast<double>(padded_) * chirp_[k];
    }
  }

  void halve(Signal& x) const {
    for (std::size_t i = 1, j = 0; i < padded_; ++i) {
      std::size_t bit = padded_ >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (std::size_t half = 1; half < padded_; half *= 2) {
      const std::size_t stride = padded_ / (2 * half);
      for (std::size_t first = 0; first < padded_; first += 2 * half) {
        for (std::size_t k = 0; k < half; ++k) {
          const Complex odd = x[first + half + k] * roots_[k * stride];
          x[first + half + k] = x[first + k] - odd;
          x[first + k] += odd;
        }
      }
    }
  }

  std::size_t length_, padded_;
  Signal roots_, chirp_, kernel_;
};

/// The one integer of an input that is given and known.
std::optional<std::int64_t> known_int(const RuleContext& ctx, std::size_t input) {
  if (!ctx.has(input)) return std::nullopt;
  const std::optional<Ints> values = ctx.ints(input);
  if (!values) return std::nullopt;
  if (values->size() != 1) ctx.fail("{}: expected one element, found {}", ctx.text(input), values->size());
  return values->front();
}

constexpr std::int64_t kMaxLength = std::int64_t{1} << 28;  // of a transform

std::int64_t checked_length(const RuleContext& ctx, std::int64_t length) {
  if (length < 1 || length > kMaxLength) ctx.fail("a transform's length is {}, expected 1 to {}", length, kMaxLength);
  return length;
}

// DFT: inputs x [..., 1 or 2], length or absent, since opset 20 axis or absent.

Types infer_dft(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 3);
  ctx.rank_at_least(0, 2);
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  Shape shape = *ctx.shape(0);
  const std::int64_t parts = shape.back();
  if (parts >= 0 && parts != 1 && parts != 2) ctx.fail("expected real or complex numbers, found {} parts", parts);
  const std::optional<std::int64_t> axis = known_int(ctx, 2), given = known_int(ctx, 1);
  const DftForm form = dft_form(op, axis, rank_of(shape));
  if (form.onesided && !form.inverse && parts == 2) ctx.fail("a one-sided transform takes real numbers");
  if (ctx.has(2) && !axis) {
    shape = unknown_shape(rank_of(shape));
  } else {
    std::int64_t& dim = at(shape, form.axis);
    const bool expands = form.expands();
    if (given) {
      dim = *given;
    } else if (ctx.has(1)) {
      dim = kUnknownDim;
    } else if (expands && dim >= 0) {
      dim = 2 * (dim - 1);
    }
    if (dim >= 0) checked_length(ctx, dim);
    if (form.onesided && !form.inverse && dim >= 0) dim = dim / 2 + 1;
  }
  shape.back() = form.onesided && form.inverse ? 1 : 2;
  return {{ctx.dtype(0), shape}};
}

/// What lies beyond half of a real signal's spectrum mirrors the rest.
void mirror(Signal& spectrum, std::size_t given) {
  for (std::size_t k = std::max<std::size_t>(given, 1); k < spectrum.size(); ++k) {
    const std::size_t twin = spectrum.size() - k;
    spectrum[k] = twin < given ? std::conj(spectrum[twin]) : 0;
  }
}

Data evaluate_dft(const Opaque& op, const Call& call) {
  const Tensor& input = call.input(0);
  const Ints given_axis = call.ints(2);
  const DftForm form = dft_form(op, given_axis.empty() ? std::nullopt : std::optional(given_axis[0]),
                                static_cast<std::int64_t>(input.shape().size()));
  const bool expands = form.expands();
  const Shape& shape = call.shape();
  const Ints given_length = call.ints(1);
  const std::int64_t parts = input.shape().back(), out_parts = shape.back();
  const AxisView from = axis_view(input.shape(), form.axis);
  const AxisView to = axis_view(shape, form.axis);
  const std::int64_t whole = expands ? 2 * (from.size - 1) : from.size;
  const auto length = static_cast<std::size_t>(given_length.empty() ? whole : given_length[0]);
  std::vector<double> y(static_cast<std::size_t>(element_count(shape)));
  if (y.empty()) return {tensor_of(call.dtype(), shape, y)};
  const std::vector<double> x = load_all<double>(input);
  const Fourier fourier(length);
  const double scale = form.inverse ? 1 / static_cast<double>(length) : 1;
  Signal signal(length);
  const std::int64_t inner = from.inner / parts;
  const std::size_t useful = expands ? length / 2 + 1 : length;
  const std::size_t taken = std::min(useful, static_cast<std::size_t>(from.size));
  for (std::int64_t line = 0; line < from.outer * inner; ++line) {
    const double* source = x.data() + line / inner * from.size * from.inner + line % inner * parts;
    std::fill(signal.begin(), signal.end(), 0);
    for (std::size_t k = 0; k < taken; ++k) {
      const double* value = source + static_cast<std::int64_t>(k) * from.inner;
      signal[k] = {value[0], parts == 2 ? value[1] : 0};
    }
    if (expands) mirror(signal, taken);
    fourier.transform(signal, form.inverse);
    double* target = y.data() + line / inner * to.size * to.inner + line % inner * out_parts;
    for (std::int64_t k = 0; k < to.size; ++k, target += to.inner) {
      const Complex value = signal[static_cast<std::size_t>(k)] * scale;
      target[0] = value.real();
      if (out_parts == 2) target[1] = value.imag();
    }
  }
  return {tensor_of(call.dtype(), shape, y)};
}

// STFT: inputs signal [batch, length] or [batch, length, 1 or 2], step, window or absent, frame length or absent.

Types infer_stft(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(2, 4);
  const bool onesided = op.int_or("onesided", 1) != 0;
  if (!ctx.has(2) && !ctx.has(3)) ctx.fail("expected a window or a frame length");
  Shape signal = ctx.shape(0).value_or(unknown_shape(3));
  if (signal.size() != 2 && signal.size() != 3) ctx.fail("expected a signal of rank 2 or 3, found {}", signal.size());
  const std::int64_t parts = signal.size() == 3 ? signal[2] : 1;
  if (parts >= 0 && parts != 1 && parts != 2) ctx.fail("expected real or complex numbers, found {} parts", parts);
  if (onesided && parts == 2) ctx.fail("a one-sided transform takes real numbers");
  if (ctx.has(2)) ctx.rank(2, 1);
  const std::optional<std::int64_t> step = known_int(ctx, 1), given = known_int(ctx, 3);
  if (step && (*step < 1 || *step > kMaxDim)) ctx.fail("the frame step is {}", *step);
  std::int64_t length = given.value_or(kUnknownDim);
  if (!ctx.has(3) && ctx.shape(2)) length = ctx.shape(2)->front();
  Shape shape = {signal[0], kUnknownDim, kUnknownDim, 2};
  if (length == kUnknownDim && !given) return {{ctx.dtype(0), shape}};
  checked_length(ctx, length);
  ctx.vector(2, length, "the frame length");
  shape[2] = onesided ? length / 2 + 1 : length;
  if (signal[1] >= 0 && length > signal[1]) ctx.fail("a frame of {} does not fit a signal of {}", length, signal[1]);
  if (signal[1] >= 0 && step) shape[1] = 1 + (signal[1] - length) / *step;
  return {{ctx.dtype(0), shape}};
}

Data evaluate_stft(const Opaque&, const Call& call) {
  const Tensor& input = call.input(0);
  const Shape& shape = call.shape();
  const std::int64_t step = call.ints(1)[0], samples = input.shape()[1];
  const std::int64_t parts = input.shape().size() == 3 ? input.shape()[2] : 1;
  const std::vector<double> x = load_all<double>(input);
  const Ints given = call.ints(3);
  std::vector<double> window = call.optional(2) ? load_all<double>(*call.optional(2)) : std::vector<double>();
  const std::size_t length = given.empty() ? window.size() : static_cast<std::size_t>(given[0]);
  if (window.empty()) window.assign(length, 1);
  std::vector<double> y;
  y.reserve(static_cast<std::size_t>(element_count(shape)));
  const Fourier fourier(length);
  Signal frame(length);
  for (std::int64_t f = 0; f < shape[0] * shape[1]; ++f) {
    const double* source = x.data() + (f / shape[1] * samples + f % shape[1] * step) * parts;
    for (std::size_t k = 0; k < length; ++k) {
      const auto i = static_cast<std::int64_t>(k) * parts;
      frame[k] = window[k] * Complex(source[i], parts == 2 ? source[i + 1] : 0);
    }
    fourier.transform(frame, false);
    for (std::size_t k = 0; k < static_cast<std::size_t>(shape[2]); ++k) {
      y.insert(y.end(), {frame[k].real(), frame[k].imag()});
    }
  }
  return {tensor_of(call.dtype(), shape, y)};
}

// MelWeightMatrix: inputs bins, transform length, sample rate, lower and upper edge in hertz.

DType mel_type(const Opaque& op) {
  const DType dtype = dtype_or(op, "output_datatype", DType::f32);
  if (dtype == DType::string) fail(ErrorCode::invalid_model, "attribute 'output_datatype': a weight is no string");
  return dtype;
}

Types infer_mel(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(5, 5);
  const std::optional<std::int64_t> bins = known_int(ctx, 0), length = known_int(ctx, 1);
  if (bins && (*bins < 0 || *bins > kMaxDim)) ctx.fail("has {} bins", *bins);
  if (length) checked_length(ctx, *length);
  return {{mel_type(op), Shape{length ? *length / 2 + 1 : kUnknownDim, bins.value_or(kUnknownDim)}}};
}

/// Of a band's triangle at a row of the spectrum.
double mel_weight(double at, double first, double peak, double last) {
  if (at >= first && at <= peak) return peak == first ? 1 : (at - first) / (peak - first);
  return at > peak && at < last ? (last - at) / (last - peak) : 0;
}

Data evaluate_mel(const Opaque&, const Call& call) {
  std::array<double, 5> given{};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (call.input(i).size() != 1) call.invalid("input {} has {} elements, expected one", i, call.input(i).size());
    given[i] = load_all<double>(call.input(i))[0];
  }
  const double bins = given[0], length = given[1], rate = given[2], lower = given[3], upper = given[4];
  const auto mel_of = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel_of(lower), mel_step = (mel_of(upper) - low) / (bins + 2);
  if (!(rate > 0) || !std::isfinite(low) || !std::isfinite(mel_step)) {
    call.invalid("a sample rate of {} and edges {} and {} make no bands", rate, lower, upper);
  }
  const auto row_of = [&](std::int64_t point) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(point) * mel_step) / 2595) - 1);
    return std::clamp(std::floor((length + 1) * hertz / rate), -1.0, length + 1);
  };
  const Shape& shape = call.shape();
  Tensor y(call.dtype(), shape);
  float* const floats = y.dtype() == DType::f32 ? y.values<float>().data() : nullptr;
  const auto put = [&](std::int64_t at, double weight) {
    if (floats != nullptr)
      floats[at] = static_cast<float>(weight);
    else
      store(&weight, 1, y, at);
  };
  double first = 0, peak = row_of(0), last = row_of(1);
  for (std::int64_t bin = 0; bin < shape[1]; ++bin) {
    first = std::exchange(peak, std::exchange(last, row_of(bin + 2)));
    // between the edges of its band, whose ends are whole numbers or lie outside
    const auto begin = static_cast<std::int64_t>(std::max(0.0, std::min(first, last)));
    const auto end = std::min(shape[0], static_cast<std::int64_t>(std::max({first, peak, last})) + 1);
    for (std::int64_t row = begin; row < end; ++row)
      put(row * shape[1] + bin, mel_weight(static_cast<double>(row), first, peak, last));
  }
  return {std::move(y)};
}

}  // namespace

DftForm dft_form(const Opaque& op, std::optional<std::int64_t> axis, std::int64_t rank) {
  DftForm form{axis.value_or(op.version < 20 ? op.int_or("axis", 1) : -2), op.int_or("inverse", 0) != 0,
               op.int_or("onesided", 0) != 0};
  if (form.axis < -rank || form.axis >= rank || form.axis == -1 || form.axis == rank - 1) {
    fail(ErrorCode::invalid_model, "axis {} is no signal axis of rank {}", form.axis, rank);
  }
  if (form.axis < 0) form.axis += rank;
  return form;
}

constexpr Definition kDFT{"DFT", infer_dft, evaluate_dft};
constexpr Definition kSTFT{"STFT", infer_stft, evaluate_stft};
constexpr Definition kMelWeightMatrix{"MelWeightMatrix", infer_mel, evaluate_mel};

}  // namespace colonnade::reference
