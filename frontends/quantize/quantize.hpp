// SPDX-License-Identifier: Apache-2.0
// Makes a quantised ONNX file of a float32 one: activations and weights of bytes between QuantizeLinear and
// DequantizeLinear, or weights alone. A client of the public API: calibration is runs of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade::quantize {

/// How a range of floats is found: all of them, all but one in a hundred thousand at either end, or the range whose
/// bytes differ least from the floats in the mean of squares.
enum class Method { percentile, mse, minmax };

/// What becomes integers: activations and weights, or weights alone with eight or four bits.
enum class Integers { all, weights8, weights4 };

/// Inputs to calibrate with, made when asked for: `at(i)` has one tensor for each input of the model, in its order.
struct Samples {
  std::size_t count = 0;
  std::function<std::vector<Tensor>(std::size_t index)> at;
};

struct Settings {
  Integers integers = Integers::all;
  Method method = Method::percentile;
  std::int64_t accuracy_level = 0;  ///< of MatMulNBits: 4 lets products round their rows to int8, 0 does not
  std::vector<std::string> keep;    ///< nodes that stay float32: their names, or first outputs where they have none
  double least_sqnr = 0;            ///< dB of the last layers' outputs; layers are kept float32 until it is reached
  int threads = 0;                  ///< as Options::threads
  std::function<void(std::string_view what, double fraction)> progress;  ///< what is done, and how far; may be empty
};

/// A layer with weights. SQNR is the power of its float32 output over that of its error, in dB: with this layer alone
/// quantised, of its weights where they alone are.
struct Layer {
  std::string node = {}, op = {};
  float low = 0, high = 0;  ///< what its input's bytes stand for
  double sqnr = 0;
  bool quantised = true;
  std::string reason = {};  ///< why it stays float32
  bool smoothed = false;    ///< a norm in front gave its weights what made its input hard to round
};

struct Result {
  std::string model;  ///< the file's bytes
  std::vector<Layer> layers;
  double sqnr = 0;  ///< dB, the worst of the last layers' outputs in the whole quantised network; weights alone: 0
};

/// Throws Error as Model::load does; Error{invalid_argument} for nodes to keep that the model has not,
/// Error{unsupported} where it has no layer to quantise or an operator that the opset of the result has not,
/// Error{invalid_input} for samples that do not fit.
Result quantize(const std::string& path, const Samples& samples, const Settings& settings);

struct Gain {
  double before_ms = 0, after_ms = 0;  ///< medians of runs that took turns
  int threads = 1;
};
/// How far a tensor that a node makes is from the one of another run, over its finite elements.
struct LayerError {
  std::string node = {}, op = {}, tensor = {};
  double largest_value = 0, largest = 0, mean = 0;
};
/// Errors of all tensors of float32 that nodes of the main graph make, in their order, by runs with `options` and with
/// `expected`: the errors of all nodes before are in them. Throws as Model::load and Session::run do.
std::vector<LayerError> layer_errors(const std::string& path, std::span<const Tensor> inputs, const Options& options,
                                     const Options& expected);

/// What the quantised model gains on this machine.
Gain measure_gain(const std::string& path, const std::string& quantised, std::span<const Tensor> inputs, int threads);

}  // namespace colonnade::quantize
