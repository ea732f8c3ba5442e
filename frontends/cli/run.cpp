// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "commands.hpp"
#include "files.hpp"
#include "model_io.hpp"
#include "numbers.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr int kDefaultTopK = 5;
constexpr std::int64_t kMostClasses = 100000;
constexpr std::int64_t kMostRowsShown = 16;

std::string summary(const TensorInfo& info, const Tensor& tensor) {
  std::string line = fmt::format("{}  {} {}", info.name, name_of(tensor.dtype()), shape_text(tensor.shape()));
  const std::vector<double> values = to_doubles(tensor);
  double sum = 0;
  double smallest = INFINITY;
  double largest = -INFINITY;
  std::size_t finite_values = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    ++finite_values;
    sum += value;
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
  }
  if (finite_values > 0)
    line += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", smallest, largest,
                        sum / static_cast<double>(finite_values));
  if (finite_values < values.size()) line += fmt::format("  not finite {}", values.size() - finite_values);
  return line + "\n";
}

bool looks_like_classes(const Tensor& tensor) {
  const std::size_t rank = tensor.shape().size();
  if (!is_float(tensor.dtype()) || rank < 1 || rank > 2 || tensor.size() == 0) return false;
  return tensor.shape().back() >= 2 && tensor.shape().back() <= kMostClasses &&
         (rank == 1 || tensor.shape()[0] <= kMostRowsShown);
}

/// Probabilities of one row: the row itself where it is a distribution, else its softmax.
std::vector<double> probabilities(std::span<const double> row) {
  std::vector<double> result(row.begin(), row.end());
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  const bool distribution =
      std::abs(sum - 1) < 1e-3 && std::all_of(row.begin(), row.end(), [](double v) { return v >= 0; });
  if (distribution) return result;
  const double largest = *std::max_element(row.begin(), row.end());
  double total = 0;
  for (double& value : result) total += value = std::exp(value - largest);
  for (double& value : result) value /= total;
  return result;
}

std::string top_classes(const Tensor& tensor, int top_k, const std::vector<std::string>& labels) {
  const std::vector<double> values = to_doubles(tensor);
  const auto classes = static_cast<std::size_t>(tensor.shape().back());
  const std::size_t rows = classes == 0 ? 0 : values.size() / classes;
  std::string out;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const double> row(values.data() + r * classes, classes);
    const std::vector<double> shares = probabilities(row);
    std::vector<std::size_t> order(classes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rank = [&](std::size_t i) { return std::isnan(row[i]) ? -INFINITY : row[i]; };
    const std::size_t shown = std::min<std::size_t>(static_cast<std::size_t>(top_k), classes);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                      [&](std::size_t a, std::size_t b) { return rank(a) != rank(b) ? rank(a) > rank(b) : a < b; });
    Table table;
    table.right = {0, 1, 2};
    table.rows.push_back({"class", "value", "share", labels.empty() ? "" : "label"});
    for (std::size_t k = 0; k < shown; ++k)
      table.rows.push_back({std::to_string(order[k]), fmt::format("{:.6g}", row[order[k]]),
                            std::isfinite(shares[order[k]]) ? fmt::format("{:.1f} %", 100 * shares[order[k]]) : "-",
                            order[k] < labels.size() ? labels[order[k]] : ""});
    if (rows > 1) out += fmt::format("  row {}\n", r);
    out += table.text();
  }
  return out;
}

std::vector<std::string> read_labels(const std::string& path) {
  std::vector<std::string> labels;
  if (path.empty()) return labels;
  std::string line;
  for (const std::byte byte : read_file(path)) {
    const char c = static_cast<char>(byte);
    if (c != '\n') {
      line += c;
      continue;
    }
    labels.push_back(one_line(line));
    line.clear();
  }
  if (!line.empty()) labels.push_back(one_line(line));
  return labels;
}

void save_inputs(const Model& model, std::span<const Tensor> inputs, const std::string& folder) {
  make_folder(folder);
  std::vector<TensorReference> items;
  for (std::size_t i = 0; i < inputs.size(); ++i) items.push_back({model.inputs()[i].name, &inputs[i]});
  write_file((std::filesystem::path(folder) / "inputs.npz").string(), format_npz(items));
}

std::string describe_outputs(const RunOptions& options, std::span<const TensorInfo> infos,
                             std::span<const Tensor> outputs) {
  const std::vector<std::string> labels = read_labels(options.labels);
  std::string out;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    out += summary(infos[i], outputs[i]);
    const bool shown =
        looks_like_classes(outputs[i]) || (options.top_k > 0 && is_float(outputs[i].dtype()) && outputs[i].size() > 0 &&
                                           (outputs[i].shape().size() == 1 || outputs[i].shape().size() == 2));
    const int top_k = options.top_k < 0 ? kDefaultTopK : options.top_k;
    if (shown && top_k > 0) out += top_classes(outputs[i], top_k, labels);
  }
  return out;
}

}  // namespace

int execute(const RunOptions& options, std::string& out) {
  const Model model = open_model(options.engine);
  for (const std::string& text : options.outputs) parse_assignment(model.outputs(), text, "output");
  const std::vector<Tensor> inputs = gather_inputs(model, options.input, options.shape);
  if (!options.saved_inputs_folder.empty()) save_inputs(model, inputs, options.saved_inputs_folder);
  Session session(model);
  const std::vector<Tensor> outputs = session.run(views_of(inputs));
  write_assigned(model.outputs(), outputs, options.outputs);
  if (!options.output_folder.empty()) write_folder(model.outputs(), outputs, options.output_folder);
  if (!options.quiet) out += describe_outputs(options, model.outputs(), outputs);
  return kGood;
}

}  // namespace colonnade::cli
