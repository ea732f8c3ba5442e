// SPDX-License-Identifier: Apache-2.0
// Fourier transforms.
#include <complex>
#include <numbers>

#include "opaque.hpp"

namespace colonnade::onnx_import::testing {
namespace {

using namespace opaque;

std::vector<std::complex<double>> transformed(const std::vector<double>& x) {
  std::vector<std::complex<double>> y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[k] += std::polar(x[i],
                         -2 * std::numbers::pi * static_cast<double>(k * i % x.size()) / static_cast<double>(x.size()));
    }
  }
  return y;
}

TEST(Opaque, TransformsOfAnyLength) {
  std::mt19937 random(3);
  for (const std::size_t length : {1, 2, 3, 5, 8, 12, 31, 64, 97}) {
    Tensor x(DType::f64, {1, static_cast<std::int64_t>(length), 1});
    for (double& value : x.values<double>()) value = static_cast<double>(random() % 1000) / 500 - 1;
    const auto expected = transformed({x.values<double>().begin(), x.values<double>().end()});
    const Tensor axis = scalar_int(1);
    const Tensor y = Subject{"DFT", 20}.one({x, Tensor(), axis});
    for (std::size_t k = 0; k < length; ++k) {
      EXPECT_NEAR(y.values<double>()[2 * k], expected[k].real(), 1e-11) << length;
      EXPECT_NEAR(y.values<double>()[2 * k + 1], expected[k].imag(), 1e-11) << length;
    }
    const Tensor back = Subject{"DFT", 17, {attribute("inverse", 1)}}.one({y});
    for (std::size_t k = 0; k < length; ++k) EXPECT_NEAR(back.values<double>()[2 * k], x.values<double>()[k], 1e-12);
    const Tensor half = Subject{"DFT", 17, {attribute("onesided", 1)}}.one({x});
    ASSERT_EQ(half.shape(), (Shape{1, static_cast<std::int64_t>(length / 2 + 1), 2}));
    const Tensor whole = Subject{"DFT", 20, {attribute("onesided", 1), attribute("inverse", 1)}}.one(
        {half, scalar_int(static_cast<std::int64_t>(length)), axis});
    ASSERT_EQ(whole.shape(), x.shape());
    for (std::size_t k = 0; k < length; ++k) EXPECT_NEAR(whole.values<double>()[k], x.values<double>()[k], 1e-12);
  }
}

TEST(Opaque, TransformsRefuse) {
  const Subject subject{"DFT", 20};
  EXPECT_EQ(subject.one({floats({0, 4, 1}, {})}).shape(), (Shape{0, 4, 2}));
  subject.refuses({floats({1, 0, 1}, {})}, "length is 0");
  subject.refuses({floats({1, 4, 1}, {1, 2, 3, 4}), scalar_int(std::int64_t{1} << 40)}, "length");
  subject.refuses({floats({1, 4, 1}, {1, 2, 3, 4}), Tensor(), scalar_int(2)}, "axis 2");
  subject.refuses({floats({1, 1, 3}, {1, 2, 3})}, "parts");
  const Subject frames{"STFT", 17};
  frames.refuses({floats({1, 4}, {1, 2, 3, 4}), scalar_int(0), floats({2}, {1, 1})}, "step");
  frames.refuses({floats({1, 4}, {1, 2, 3, 4}), scalar_int(1), floats({5}, {1, 1, 1, 1, 1})}, "fit");
  frames.refuses({floats({1, 4}, {1, 2, 3, 4}), scalar_int(1)}, "window");
  EXPECT_EQ(frames.one({floats({0, 4}, {}), scalar_int(1), floats({2}, {1, 1})}).shape(), (Shape{0, 3, 2, 2}));
  const Subject mel{"MelWeightMatrix", 17};
  mel.refuses({scalar_int(4), scalar_int(16), scalar_int(0), floats({}, {0}), floats({}, {100})}, "rate");
  mel.refuses({scalar_int(-1), scalar_int(16), scalar_int(100), floats({}, {0}), floats({}, {100})}, "bins");
}

// Random numbers

}  // namespace
}  // namespace colonnade::onnx_import::testing
