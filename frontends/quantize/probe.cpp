// SPDX-License-Identifier: Apache-2.0
#include "probe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace colonnade::quantize {
namespace {

Model model_with_outputs(Network& network, std::span<const std::string> outputs, const Options& options) {
  onnx::GraphProto given;
  given.mutable_output()->Swap(network.graph().mutable_output());
  for (const std::string& name : outputs) network.graph().add_output()->set_name(name);
  const std::string bytes = bytes_of(network.model);
  given.mutable_output()->Swap(network.graph().mutable_output());
  return Model::from_bytes(std::as_bytes(std::span(bytes)), options);
}

Options runs_with(int threads) {
  Options options;
  options.threads = threads;
  options.duel = false;
  options.padding = Padding::compute;  // the same for floats and bytes
  return options;
}

std::vector<TensorView> views_of(std::span<const Tensor> tensors) { return {tensors.begin(), tensors.end()}; }

double bytes_of_shape(const Shape& shape) {
  double bytes = sizeof(float);
  for (const std::int64_t size : shape) bytes *= static_cast<double>(std::max<std::int64_t>(size, 1));
  return bytes;
}

using Group = std::vector<std::string>;

/// Tensors of float32 in the order of their names, as many together as fit.
std::vector<Group> groups_of(Network& network, const Wanted& wanted, std::span<const Tensor> inputs, int threads) {
  Group all;
  for (const auto& [name, axis] : wanted) all.push_back(name);
  Probe probe(network, all, threads);
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const std::vector<Shape> found = probe.session().output_shapes(shapes);
  std::vector<Group> groups;
  double bytes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (probe.model().outputs()[i].dtype != DType::f32) continue;
    const double more = bytes_of_shape(found[i]);
    if (groups.empty() || bytes + more > kGroupBytes) groups.emplace_back(), bytes = 0;
    groups.back().push_back(all[i]);
    bytes += more;
  }
  return groups;
}

void fold_channels(Statistics& statistics, const Tensor& tensor, std::size_t axis) {
  std::size_t outer = 1, inner = 1;
  const Shape& shape = tensor.shape();
  const auto channels = static_cast<std::size_t>(shape[axis]);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d != axis) (d < axis ? outer : inner) *= static_cast<std::size_t>(shape[d]);
  statistics.sums.resize(channels), statistics.squares.resize(channels), statistics.largest.resize(channels);
  const float* at = tensor.values<float>().data();
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t c = 0; c < channels; ++c, at += inner) {
      float sum = 0, squares = 0, largest = statistics.largest[c];
      for (std::size_t i = 0; i < inner; ++i)
        sum += at[i], squares += at[i] * at[i], largest = std::max(largest, std::abs(at[i]));
      statistics.sums[c] += static_cast<double>(sum);
      statistics.squares[c] += static_cast<double>(squares);
      statistics.largest[c] = largest;
    }
  }
  statistics.elements_a_channel += outer * inner;
}

}  // namespace

Probe::Probe(Network& network, std::span<const std::string> outputs, const Options& options)
    : model_(model_with_outputs(network, outputs, options)), session_(model_) {}

Probe::Probe(Network& network, std::span<const std::string> outputs, int threads)
    : Probe(network, outputs, runs_with(threads)) {}

std::vector<Tensor> Probe::run(std::span<const Tensor> inputs) { return session_.run(views_of(inputs)); }

std::vector<double> Statistics::means() const {
  std::vector<double> means = sums;
  for (double& mean : means) mean /= static_cast<double>(std::max<std::uint64_t>(elements_a_channel, 1));
  return means;
}

void fold(Statistics& statistics, const Tensor& tensor, int axis) {
  statistics.is_float = true;
  statistics.histogram.add(tensor.values<float>());
  const auto rank = static_cast<int>(tensor.shape().size());
  if (axis == kNoChannels) return;
  const int channel = axis < 0 ? axis + rank : axis;
  if (channel < 0 || channel >= rank) return;
  fold_channels(statistics, tensor, static_cast<std::size_t>(channel));
}

AllStatistics calibrate(Network& network, const Wanted& wanted, const Samples& samples, const Settings& settings,
                        std::string_view what) {
  AllStatistics statistics;
  if (wanted.empty()) return statistics;
  const std::vector<Group> groups = groups_of(network, wanted, samples.at(0), settings.threads);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Probe probe(network, groups[g], settings.threads);
    for (std::size_t s = 0; s < samples.count; ++s) {
      const std::vector<Tensor> tensors = probe.run(samples.at(s));
      for (std::size_t i = 0; i < tensors.size(); ++i)
        fold(statistics[groups[g][i]], tensors[i], wanted.at(groups[g][i]));
      if (!settings.progress) continue;
      const double done = static_cast<double>(g) + static_cast<double>(s + 1) / static_cast<double>(samples.count);
      settings.progress(what, done / static_cast<double>(groups.size()));
    }
  }
  return statistics;
}

}  // namespace colonnade::quantize
