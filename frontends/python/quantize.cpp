// SPDX-License-Identifier: Apache-2.0
// Quantised models of float32 ones, as colonnade.quantize makes them.
#include "frontends/quantize/quantize.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>

#include "frontends/python/arrays.hpp"
#include "frontends/python/numpy.hpp"
#include "frontends/python/python.hpp"

namespace colonnade::python {
namespace {

using quantize::Integers;
using quantize::Method;

/// What is done, where Python may raise: signals that have come in the thread that handles them.
void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

Method method_named(const std::string& name) {
  if (name == "percentile") return Method::percentile;
  if (name == "mse") return Method::mse;
  if (name == "minmax") return Method::minmax;
  throw Error(ErrorCode::invalid_argument, "method: expected 'percentile', 'mse' or 'minmax', found '" + name + "'");
}

Integers integers_of(nb::handle weights_only) {
  if (weights_only.is_none()) return Integers::all;
  const std::string name = to_text(weights_only, "weights_only");
  if (name == "int8") return Integers::weights8;
  if (name == "int4") return Integers::weights4;
  throw Error(ErrorCode::invalid_argument, "weights_only: expected 'int8', 'int4' or None, found '" + name + "'");
}

/// A sample's array of one input: of a dict by name, of a tuple or list by place; a single input is given as it is.
nb::object part_of(nb::handle sample, std::size_t index, const std::vector<TensorInfo>& inputs,
                   const std::string& role) {
  const auto count = [&](std::size_t found) {
    if (found != inputs.size())
      refuse(role, "expected " + std::to_string(inputs.size()) + (inputs.size() == 1 ? " array" : " arrays") +
                       ", found " + std::to_string(found));
  };
  if (PyDict_Check(sample.ptr())) {
    count(static_cast<std::size_t>(PyDict_Size(sample.ptr())));
    PyObject* found = PyDict_GetItemWithError(sample.ptr(), to_str(inputs[index].name).ptr());
    if (found == nullptr) refuse(role, "no array is named '" + inputs[index].name + "'");
    return nb::borrow(found);
  }
  if (PyTuple_Check(sample.ptr()) || PyList_Check(sample.ptr())) {
    count(nb::len(sample));
    return nb::object(sample[index]);
  }
  count(1);
  return nb::borrow(sample);
}

std::vector<Tensor> tensors_of(nb::handle sample, std::size_t number, const std::vector<TensorInfo>& inputs) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string role = "sample " + std::to_string(number) + ", input '" + inputs[i].name + "'";
    Loan loan;
    TensorView view;
    loan.read(as_array(part_of(sample, i, inputs, role), role), inputs[i].dtype, role, view);
    tensors.push_back(copy_of(view));
  }
  return tensors;
}

/// Takes the samples of a list when they are asked for, with the GIL.
quantize::Samples samples_of(const nb::list& list, const std::vector<TensorInfo>& inputs) {
  return {nb::len(list), [&list, &inputs](std::size_t index) {
            const nb::gil_scoped_acquire acquire;
            check_signals();
            return tensors_of(list[index], index, inputs);
          }};
}

nb::object to_dict(const quantize::Layer& layer) {
  nb::dict dict;
  dict["node"] = to_str(layer.node);
  dict["op"] = to_str(layer.op);
  dict["low"] = layer.low;
  dict["high"] = layer.high;
  dict["sqnr"] = layer.sqnr;
  dict["quantised"] = layer.quantised;
  dict["reason"] = to_str(layer.reason);
  dict["smoothed"] = layer.smoothed;
  return dict;
}

nb::object quantize_model(const std::string& path, const nb::list& samples, const std::string& method,
                          nb::handle weights_only, std::int64_t accuracy_level, std::vector<std::string> keep,
                          double sqnr, int threads, const nb::object& progress) {
  quantize::Settings settings;
  settings.method = method_named(method);
  settings.integers = integers_of(weights_only);
  settings.accuracy_level = accuracy_level;
  settings.keep = std::move(keep);
  settings.least_sqnr = sqnr;
  settings.threads = threads;
  settings.progress = [&](std::string_view what, double fraction) {
    const nb::gil_scoped_acquire acquire;
    check_signals();
    if (!progress.is_none()) progress(to_str(what), fraction);
  };
  quantize::Result result;
  {
    const nb::gil_scoped_release release;
    const std::vector<TensorInfo> inputs = [&] {
      const Model model = Model::load(path);
      return std::vector<TensorInfo>(model.inputs().begin(), model.inputs().end());
    }();
    result = quantize::quantize(path, samples_of(samples, inputs), settings);
  }
  nb::list layers;
  for (const quantize::Layer& layer : result.layers) layers.append(to_dict(layer));
  return nb::make_tuple(nb::bytes(result.model.data(), result.model.size()), layers, result.sqnr);
}

}  // namespace

void bind_quantize(nb::module_& module) {
  module.def("quantize", &quantize_model, nb::arg("path"), nb::arg("samples"), nb::arg("method"),
             nb::arg("weights_only").none(), nb::arg("accuracy_level"), nb::arg("keep"), nb::arg("sqnr"),
             nb::arg("threads"), nb::arg("progress").none(),
             "The file's bytes, a dict a layer, and the SQNR: see colonnade.quantize.");
}

}  // namespace colonnade::python
