// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/signature.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "frontends/server/datatype.hpp"

namespace colonnade::serve {
namespace {

constexpr std::int64_t kOpen = -1;

template <class Dims>
Shape shape_of(const Dims& dims) {
  return Shape(dims.begin(), dims.end());
}

template <class Ports>
Port port_of(const TensorInfo& info, const Ports& ports, const std::string& model) {
  const auto found =
      std::find_if(ports.begin(), ports.end(), [&](const auto& port) { return port.name() == info.name; });
  if (found == ports.end())
    throw Failure(Code::invalid_argument,
                  fmt::format("the configuration of model '{}' does not name '{}'", model, info.name));
  Port port{info.name, info.dtype, shape_of(found->dims()), found->has_reshape(), {}, {}};
  if (port.is_reshaped) port.model_dims = shape_of(found->reshape().shape());
  return port;
}

/// `from` with the values that its open dimensions have in `shape` put into the open dimensions of `to`.
Shape reshaped(const Shape& from, const Shape& to, std::span<const std::int64_t> shape) {
  Shape result = to;
  std::size_t next = 0;
  for (std::int64_t& dim : result) {
    if (dim != kOpen) continue;
    while (next < from.size() && from[next] != kOpen) ++next;
    if (next < std::min(from.size(), shape.size())) dim = shape[next++];
  }
  return result;
}

bool fits(const Shape& expected, std::span<const std::int64_t> found) {
  return std::equal(expected.begin(), expected.end(), found.begin(), found.end(),
                    [](std::int64_t wanted, std::int64_t dim) { return wanted == kOpen || wanted == dim; });
}

/// Matches request and model in one pass; the mistakes it names are the ones that clients of Triton know.
class Binder {
 public:
  Binder(const Signature& signature, InferenceRequest& request) : signature_(signature), job_(std::make_unique<Job>()) {
    job_->request = std::move(request);
  }

  JobPtr bind() {
    std::vector<const InputTensor*> found(signature_.inputs.size(), nullptr);
    for (const InputTensor& input : job_->request.inputs) {
      const std::size_t index = index_of(signature_.inputs, input.name, "input");
      if (found[index] != nullptr) reject(fmt::format("input '{}' already exists in request", input.name));
      found[index] = &input;
    }
    if (std::find(found.begin(), found.end(), nullptr) != found.end()) refuse_count(found);
    find_samples(found);
    for (std::size_t i = 0; i < found.size(); ++i) job_->inputs.push_back(bind(signature_.inputs[i], *found[i]));
    bind_outputs();
    job_->deadline = job_->request.deadline;
    job_->form = form();
    return std::move(job_);
  }

 private:
  std::size_t index_of(const std::vector<Port>& ports, const std::string& name, const char* kind) const {
    const auto found = std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.name == name; });
    if (found == ports.end())
      reject(fmt::format("unexpected inference {} '{}' for model '{}'", kind, name, signature_.model));
    return static_cast<std::size_t>(found - ports.begin());
  }

  [[noreturn]] void refuse_count(const std::vector<const InputTensor*>& found) const {
    std::vector<std::string> got, missing;
    for (const InputTensor& input : job_->request.inputs) got.push_back(fmt::format("'{}'", input.name));
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] == nullptr) missing.push_back(fmt::format("'{}'", signature_.inputs[i].name));
    reject(
        fmt::format("expected {} inputs but got {} inputs for model '{}'. Got inputs [{}], but missing required "
                    "inputs [{}]. Please provide all required inputs.",
                    found.size(), got.size(), signature_.model, fmt::join(got, ","), fmt::join(missing, ",")));
  }

  void find_samples(const std::vector<const InputTensor*>& found) {
    if (signature_.max_batch == 0) return;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Shape& shape = found[i]->view.shape;
      if (shape.empty())
        reject(fmt::format("input '{}' has no shape but model requires batch dimension for '{}'", found[i]->name,
                           signature_.model));
      if (i > 0 && shape[0] != job_->samples)
        reject(fmt::format("input '{}' batch size does not match other inputs for '{}': expected {}, got {}",
                           found[i]->name, signature_.model, job_->samples, shape[0]));
      job_->samples = shape[0];
    }
    if (job_->samples > signature_.max_batch)
      reject(fmt::format("inference request batch-size must be <= {} for '{}', got {}", signature_.max_batch,
                         signature_.model, job_->samples));
    if (job_->samples < 1)
      reject(
          fmt::format("inference request batch-size must be >= 1 for '{}', got {}", signature_.model, job_->samples));
  }

  TensorView bind(const Port& port, const InputTensor& input) const {
    const TensorView& view = input.view;
    if (view.dtype != port.dtype)
      reject(fmt::format("inference input '{}' data-type is '{}', but model '{}' expects '{}'", input.name,
                         datatype_of(view.dtype), signature_.model, datatype_of(port.dtype)));
    const std::size_t lead = signature_.max_batch > 0 ? 1 : 0;
    const std::span<const std::int64_t> dims = std::span(view.shape).subspan(lead);
    if (!fits(port.dims, dims)) refuse_shape(port, input);
    for (const std::int64_t dim : view.shape)
      if (dim < 0) refuse_shape(port, input);
    std::int64_t count = 0;
    try {
      count = element_count(view.shape);
    } catch (const Error& error) {
      reject(fmt::format("input '{}': {}", input.name, error.what()));
    }
    if (count > 0 && view.data == nullptr) reject(fmt::format("input '{}' has no data", input.name));
    TensorView bound = view;
    if (!port.is_reshaped) return bound;
    const Shape model_dims = reshaped(port.dims, port.model_dims, dims);
    bound.shape.resize(lead);
    bound.shape.insert(bound.shape.end(), model_dims.begin(), model_dims.end());
    return bound;
  }

  [[noreturn]] void refuse_shape(const Port& port, const InputTensor& input) const {
    Shape expected = port.dims;
    const bool batched = signature_.max_batch > 0;
    if (batched) expected.insert(expected.begin(), kOpen);
    reject(
        fmt::format("unexpected shape for input '{}' for model '{}'. Expected {}, got {}.{}", input.name,
                    signature_.model, text_of(expected), text_of(input.view.shape),
                    batched ? " NOTE: max_batch_size is not 0, so each input shape begins with the batch size." : ""));
  }

  std::uint64_t form() const {
    const std::size_t lead = signature_.max_batch > 0 ? 1 : 0;
    static const std::uint64_t seed = std::random_device()();  // so that nobody makes up shapes that look like others
    std::uint64_t form = seed;
    const auto add = [&form](std::size_t value) {
      form = (form ^ value ^ (seed << 32)) * 0x9E3779B97F4A7C15;
      form ^= form >> 29;
    };
    for (const TensorView& input : job_->inputs) {
      add(input.shape.size());
      for (std::size_t axis = lead; axis < input.shape.size(); ++axis) add(static_cast<std::size_t>(input.shape[axis]));
    }
    return form;
  }

  void bind_outputs() {
    if (job_->request.outputs.empty()) {
      for (std::size_t i = 0; i < signature_.outputs.size(); ++i) job_->outputs.push_back({i, 0});
      return;
    }
    for (const RequestedOutput& wanted : job_->request.outputs) {
      const std::size_t index = index_of(signature_.outputs, wanted.name, "output");
      const bool again = std::any_of(job_->outputs.begin(), job_->outputs.end(),
                                     [&](const Job::Wanted& other) { return other.output == index; });
      if (again) reject(fmt::format("output '{}' already requested", wanted.name));
      if (wanted.classes < 0)
        reject(fmt::format("classification of output '{}' must be at least 1, got {}", wanted.name, wanted.classes));
      if (wanted.classes > 0 && signature_.outputs[index].dtype == DType::string)
        reject(fmt::format("output '{}' has strings, which cannot be classified", wanted.name));
      job_->outputs.push_back({index, wanted.classes, wanted.place});
    }
  }

  const Signature& signature_;
  JobPtr job_;
};

}  // namespace

std::string text_of(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

Signature Signature::of(const inference::ModelConfig& config, const Model& model) {
  Signature signature{config.name(), config.max_batch_size(), {}, {}};
  for (const TensorInfo& info : model.inputs())
    signature.inputs.push_back(port_of(info, config.input(), config.name()));
  for (const TensorInfo& info : model.outputs())
    signature.outputs.push_back(port_of(info, config.output(), config.name()));
  return signature;
}

JobPtr Signature::bind(InferenceRequest& request) const { return Binder(*this, request).bind(); }

Shape Signature::client_shape(const Port& output, const Shape& shape) const {
  if (!output.is_reshaped) return shape;
  const std::size_t lead = max_batch > 0 ? 1 : 0;
  const Shape dims = reshaped(output.model_dims, output.dims, std::span(shape).subspan(lead));
  Shape result(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(lead));
  result.insert(result.end(), dims.begin(), dims.end());
  return result;
}

}  // namespace colonnade::serve
