// SPDX-License-Identifier: Apache-2.0
// Runs of a network that give any of its tensors, and what is learnt from them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "histogram.hpp"
#include "network.hpp"

namespace colonnade::quantize {

/// The engine with other outputs than the model's.
class Probe {
 public:
  Probe(Network& network, std::span<const std::string> outputs, int threads);
  Probe(Network& network, std::span<const std::string> outputs, const Options& options);
  const Model& model() const { return model_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  Session& session() { return session_; }

 private:
  Model model_;
  Session session_;
};

/// What a tensor held over all samples. Means are by channel, where one is asked for.
struct Statistics {
  Histogram histogram;
  std::vector<double> sums;     ///< by channel
  std::vector<double> squares;  ///< their sums, by channel
  std::vector<float> largest;   ///< magnitudes, by channel
  std::uint64_t elements_a_channel = 0;
  bool is_float = false;  ///< no tensor of float32 otherwise

  std::vector<double> means() const;
};

/// Folds the elements; `axis` counts from the end where it is negative, and -1000 asks for no channels.
inline constexpr int kNoChannels = -1000;
void fold(Statistics& statistics, const Tensor& tensor, int axis);

/// Tensors, and the axis of their channels.
using Wanted = std::map<std::string, int>;
using AllStatistics = std::map<std::string, Statistics>;

/// Runs all samples, one after another. Tensors come in groups of at most `kGroupBytes`, each of which is a run of its
/// own over the samples: no more than one sample's tensors of a group exist at a time.
inline constexpr double kGroupBytes = 512.0 * 1024 * 1024;
AllStatistics calibrate(Network& network, const Wanted& wanted, const Samples& samples, const Settings& settings,
                        std::string_view what);

}  // namespace colonnade::quantize
