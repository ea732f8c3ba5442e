// SPDX-License-Identifier: Apache-2.0
// Colonnade as a program embeds it, answering the protocol of worker.py.
//
//   colonnade-peer-worker --model FILE --threads N [--schedule auto|columns|layers] [--math bf16] [--compiled FILE]
//                        [--input DTYPE:DIMS:FILE]...
#include <algorithm>
#include <chrono>
#include <colonnade/colonnade.hpp>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& message) {
  throw colonnade::Error(colonnade::ErrorCode::invalid_argument, message);
}

/// VmRSS or VmHWM of this process.
long memory_kb(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::atol(line.c_str() + field.size() + 1);
  }
  return 0;
}

/// Starts VmHWM again from the memory in use, where the kernel allows it.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

colonnade::DType dtype_named(const std::string& name) {
  for (int i = 1; i <= static_cast<int>(colonnade::DType::boolean); ++i) {
    const auto dtype = static_cast<colonnade::DType>(i);
    if (colonnade::name_of(dtype) == name) return dtype;
  }
  refuse("no element type " + name);
}

/// A tensor from DTYPE:DIMxDIM:FILE, the raw elements.
colonnade::Tensor read_input(const std::string& spec) {
  const std::size_t first = spec.find(':');
  const std::size_t second = spec.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) refuse("--input takes DTYPE:DIMS:FILE, not " + spec);
  colonnade::Shape shape;
  std::istringstream dims(spec.substr(first + 1, second - first - 1));
  for (std::string dim; std::getline(dims, dim, 'x');) shape.push_back(std::stoll(dim));
  colonnade::Tensor tensor(dtype_named(spec.substr(0, first)), shape);
  const std::string path = spec.substr(second + 1);
  std::ifstream file(path, std::ios::binary);
  file.read(static_cast<char*>(tensor.data()), static_cast<std::streamsize>(tensor.byte_size()));
  if (!file) refuse("cannot read " + std::to_string(tensor.byte_size()) + " bytes from " + path);
  return tensor;
}

struct Arguments {
  std::string model;
  colonnade::Options options;
  std::vector<colonnade::Tensor> inputs;
};

colonnade::Schedule schedule_named(const std::string& name) {
  if (name == "auto") return colonnade::Schedule::automatic;
  if (name == "columns") return colonnade::Schedule::columns;
  if (name == "layers") return colonnade::Schedule::layers;
  refuse("no schedule " + name);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) refuse(name + " needs a value");
    const std::string value = argv[i + 1];
    if (name == "--model") {
      arguments.model = value;
    } else if (name == "--threads") {
      arguments.options.threads = std::stoi(value);
    } else if (name == "--schedule") {
      arguments.options.schedule = schedule_named(value);
    } else if (name == "--compiled") {
      arguments.options.compiled = value;
    } else if (name == "--math") {
      if (value != "bf16") refuse("no math " + value);
      arguments.options.math = colonnade::Math::bf16;
    } else if (name == "--input") {
      arguments.inputs.push_back(read_input(value));
    } else {
      refuse("no option " + name);
    }
  }
  return arguments;
}

/// The text as a JSON string.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + "\"";
}

class Worker {
 public:
  explicit Worker(Arguments arguments) : arguments_(std::move(arguments)) {
    for (const colonnade::Tensor& input : arguments_.inputs) inputs_.emplace_back(input);
  }

  std::string answer(const std::string& command, const std::string& operand) {
    if (command == "load") return load();
    if (command == "output") return output(operand);
    if (command == "run") return run(std::stod(operand));
    if (command == "peak") return peak();
    refuse("no command " + command);
  }

 private:
  std::string load() {
    reset_peak();
    idle_kb_ = memory_kb("VmRSS");
    const Clock::time_point start = Clock::now();
    const colonnade::Model model = colonnade::Model::load(arguments_.model, arguments_.options);
    session_.emplace(model);
    std::vector<colonnade::Shape> shapes;
    colonnade::ShapeMap named;
    for (std::size_t i = 0; i < inputs_.size() && i < model.inputs().size(); ++i) {
      shapes.push_back(inputs_[i].shape);
      named[model.inputs()[i].name] = inputs_[i].shape;
    }
    session_->prepare(named);
    const std::vector<colonnade::Shape> output_shapes = session_->output_shapes(shapes);
    for (std::size_t i = 0; i < output_shapes.size(); ++i) {
      outputs_.emplace_back(model.outputs()[i].dtype, output_shapes[i]);
    }
    const double load_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    for (colonnade::Tensor& tensor : outputs_) output_views_.emplace_back(tensor);
    load_peak_kb_ = memory_kb("VmHWM");
    reset_peak();
    return "{\"load_ms\": " + std::to_string(load_ms) + ", \"version\": " + quoted(colonnade::version()) + "}";
  }

  long timed_run() {
    const Clock::time_point start = Clock::now();
    session_->run(inputs_, output_views_);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  }

  std::string output(const std::string& folder) {
    std::string reply = "{\"first_ms\": " + std::to_string(static_cast<double>(timed_run()) / 1e6) + ", \"outputs\": [";
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const colonnade::Tensor& tensor = outputs_[i];
      const std::string path = folder + "/" + std::to_string(i) + ".raw";
      std::ofstream(path, std::ios::binary)
          .write(static_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.byte_size()));
      reply += std::string(i > 0 ? ", " : "") + "{\"dtype\": " + quoted(colonnade::name_of(tensor.dtype())) +
               ", \"shape\": [";
      for (std::size_t d = 0; d < tensor.shape().size(); ++d) {
        reply += (d > 0 ? ", " : "") + std::to_string(tensor.shape()[d]);
      }
      reply += "], \"file\": " + quoted(path) + "}";
    }
    return reply + "]}";
  }

  std::string run(double seconds) {
    constexpr std::size_t kLeastRuns = 2;
    timed_run();
    std::vector<long> times;
    const Clock::time_point start = Clock::now();
    while (times.size() < kLeastRuns || std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
      times.push_back(timed_run());
    }
    std::string reply = "{\"ns\": [";
    for (std::size_t i = 0; i < times.size(); ++i) reply += (i > 0 ? ", " : "") + std::to_string(times[i]);
    return reply + "]}";
  }

  std::string peak() const {
    const long run_kb = memory_kb("VmHWM");
    return "{\"peak_kb\": " + std::to_string(std::max(run_kb, load_peak_kb_) - idle_kb_) +
           ", \"run_kb\": " + std::to_string(run_kb - idle_kb_) + "}";
  }

  Arguments arguments_;
  std::vector<colonnade::TensorView> inputs_;
  std::vector<colonnade::Tensor> outputs_;
  std::vector<colonnade::MutableTensorView> output_views_;
  std::optional<colonnade::Session> session_;
  long idle_kb_ = 0;
  long load_peak_kb_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    Worker worker(parse(argc, argv));
    for (std::string line; std::getline(std::cin, line) && line != "quit";) {
      const std::size_t space = std::min(line.find(' '), line.size());
      try {
        std::cout << worker.answer(line.substr(0, space), line.substr(std::min(space + 1, line.size()))) << std::endl;
      } catch (const std::exception& error) {
        std::cout << "{\"error\": " << quoted(error.what()) << "}" << std::endl;
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "colonnade-peer-worker: " << error.what() << std::endl;
    return 2;
  }
}
