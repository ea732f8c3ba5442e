// SPDX-License-Identifier: Apache-2.0
#include "frontends/quantize/quantize.hpp"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "commands.hpp"
#include "files.hpp"
#include "model_io.hpp"
#include "process.hpp"
#include "samples.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

using quantize::Integers;
using quantize::Method;

void refuse(bool wrong, const std::string& message) {
  if (wrong) throw Error(ErrorCode::invalid_argument, message);
}

void check(const QuantizeOptions& options) {
  const bool alone = !options.weights_only.empty();
  refuse(options.model.starts_with("embedded:"), "quantize reads a file; models embedded in the library are none");
  refuse(alone && (!options.data.empty() || options.random),
         "--weights-only needs no calibration: leave out --data and --random");
  refuse(options.accuracy_level != 0 && options.weights_only != "int4",
         "--accuracy-level is an attribute of weights of four bits: add --weights-only int4");
  refuse(options.random && !options.data.empty(), "--random and --data exclude each other");
  refuse(!alone && !options.random && options.data.empty(),
         "--data is needed: files or a folder of inputs as the network will meet them (--random takes noise instead)");
  std::error_code error;
  refuse(std::filesystem::equivalent(options.model, options.output, error),
         fmt::format("--output '{}' is the model itself", options.output));
  const std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
  refuse(!folder.empty() && !std::filesystem::is_directory(folder, error),
         fmt::format("--output '{}': there is no folder '{}'", options.output, folder.string()));
}

quantize::Settings settings_of(const QuantizeOptions& options) {
  quantize::Settings settings;
  settings.method = options.method == "minmax" ? Method::minmax
                    : options.method == "mse"  ? Method::mse
                                               : Method::percentile;
  settings.integers = options.weights_only.empty()     ? Integers::all
                      : options.weights_only == "int8" ? Integers::weights8
                                                       : Integers::weights4;
  settings.accuracy_level = options.accuracy_level;
  settings.keep = options.keep;
  settings.least_sqnr = options.least_sqnr;
  settings.threads = options.threads;
  return settings;
}

std::string decibels(double value) { return std::isfinite(value) ? fmt::format("{:.1f}", value) : "exact"; }

std::string table_of(const quantize::Result& result, bool weights_only) {
  Table table;
  table.rows.push_back({"layer", "type", weights_only ? "" : "input range", "SQNR dB", "becomes"});
  table.right = {3};
  for (const quantize::Layer& layer : result.layers) {
    const std::string integers = layer.smoothed ? "integers, smoothed" : "integers";
    const std::string becomes = layer.quantised ? integers : fmt::format("float32: {}", layer.reason);
    const std::string range = weights_only ? "" : fmt::format("{:.4g} .. {:.4g}", layer.low, layer.high);
    table.rows.push_back({shortened(layer.node, 48), layer.op, range, decibels(layer.sqnr), becomes});
  }
  return table.text("");
}

std::string summary_of(const QuantizeOptions& options, const quantize::Result& result, std::size_t samples) {
  std::size_t quantised = 0;
  for (const quantize::Layer& layer : result.layers) quantised += layer.quantised ? 1 : 0;
  std::string text = fmt::format("layers       {} of {} in integers\n", quantised, result.layers.size());
  if (options.weights_only.empty())
    text += fmt::format("outputs      {} dB SQNR, the worst of the last layers ({} samples)\n", decibels(result.sqnr),
                        samples);
  std::error_code error;
  const auto before = static_cast<double>(std::filesystem::file_size(options.model, error));
  text += fmt::format("file         {} -> {}\n", human_bytes(before),
                      human_bytes(static_cast<double>(result.model.size())));
  return text;
}

std::string gain_text(const quantize::Gain& gain) {
  const double ratio = gain.before_ms / gain.after_ms;
  return fmt::format("time         {} -> {} with {} threads on this machine: {}\n", human_ms(gain.before_ms),
                     human_ms(gain.after_ms), gain.threads,
                     ratio >= 1 ? fmt::format("{:.2f} times as fast", ratio)
                                : fmt::format("slower by {:.0f} %", 100 * (1 / ratio - 1)));
}

}  // namespace

int execute(const QuantizeOptions& options, std::string& out) {
  check(options);
  EngineOptions engine;
  engine.model = options.model;
  engine.threads = options.threads;
  const Model model = open_model(engine);
  quantize::Settings settings = settings_of(options);
  quantize::Samples samples;
  if (!options.data.empty()) samples = read_samples(model, options.data, options);
  if (options.random) {
    std::fputs("colonnade: warning: calibrated with noise: ranges are not those of real inputs\n", stderr);
    samples = random_samples(model, options);
  }
  quantize::Result result;
  {
    std::optional<Progress> progress;
    std::string shown;
    settings.progress = [&](std::string_view what, double fraction) {
      if (!progress || shown != what) progress.emplace(shown = what, !options.quiet);
      progress->update(fraction);
    };
    result = quantize::quantize(options.model, samples, settings);
  }
  write_file(options.output, result.model);
  if (!options.quiet) out += table_of(result, !options.weights_only.empty()) + "\n";
  out += summary_of(options, result, samples.count);
  const quantize::Samples timed = samples.count > 0 ? samples : random_samples(model, options);
  out += gain_text(quantize::measure_gain(options.model, result.model, timed.at(0), options.threads));
  return kGood;
}

}  // namespace colonnade::cli
