// SPDX-License-Identifier: Apache-2.0
// DFT and STFT on whole tensors.
#include "program/whole.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

constexpr double kFourierTolerance = 2e-4;

Operator dft(bool inverse, bool onesided) {
  Attributes attributes{{"inverse", std::int64_t{inverse}}, {"onesided", std::int64_t{onesided}}};
  return make_opaque(reference::kDFT, 20, attributes);
}
Operator stft(bool onesided) { return make_opaque(reference::kSTFT, 17, {{"onesided", std::int64_t{onesided}}}); }
Input number(std::int64_t value) { return constant(index_tensor({}, {value})); }

TEST(Fourier, AlongEveryAxis) {
  for (const bool inverse : {false, true})
    for (const std::int64_t parts : {1, 2})
      for (std::int64_t axis = 0; axis < 3; ++axis)
        check(dft(inverse, false), {computed(DType::f32, {5, 12, 7, parts}), absent(), number(axis)}, families::fourier,
              kFourierTolerance);
}

TEST(Fourier, OfOneSide) {
  for (const std::int64_t length : {1, 2, 9, 16, 30}) {
    check(dft(false, true), {computed(DType::f32, {3, length, 1}), absent(), number(1)}, families::fourier,
          kFourierTolerance);
    check(dft(true, true), {computed(DType::f32, {3, length + 1, 2}), absent(), number(1)}, families::fourier,
          kFourierTolerance);
  }
}

TEST(Fourier, OfGivenLengths) {
  for (const std::int64_t length : {4, 10, 15, 24})
    for (const bool inverse : {false, true}) {
      check(dft(inverse, false), {computed(DType::f32, {20, 10, 2}), number(length), number(-2)}, families::fourier,
            kFourierTolerance);
      check(dft(inverse, true), {computed(DType::f32, {20, 10, inverse ? 2 : 1}), number(length), number(1)},
            families::fourier, kFourierTolerance);
    }
}

TEST(Fourier, OfFrames) {
  for (const bool onesided : {false, true})
    for (const std::int64_t step : {1, 7, 40}) {
      const Input signal = computed(DType::f32, {2, 100, 1}), window = computed(DType::f32, {20});
      check(stft(onesided), {signal, number(step), window, number(20)}, families::fourier, kFourierTolerance);
      check(stft(onesided), {signal, number(step), window}, families::fourier, kFourierTolerance);
      check(stft(onesided), {signal, number(step), absent(), number(15)}, families::fourier, kFourierTolerance);
      check(stft(onesided), {computed(DType::f32, {3, 64}), number(step), absent(), number(64)}, families::fourier,
            kFourierTolerance);
    }
  check(stft(false), {computed(DType::f32, {2, 100, 2}), number(9), constant(random_tensor(DType::f32, {16}, 9))},
        families::fourier, kFourierTolerance);
}

TEST(Fourier, LeavesOthersToTheReference) {
  check(dft(false, false), {computed(DType::f32, {1, 17, 2}), absent(), number(1)}, families::island,
        kFourierTolerance);
  check(dft(false, false), {computed(DType::f64, {1, 16, 2}), absent(), number(1)}, families::island,
        kFourierTolerance);
}

}  // namespace
}  // namespace colonnade::test
