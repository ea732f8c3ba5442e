// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

namespace colonnade::cli {
namespace {

constexpr double kMostThreads = 4096;
constexpr double kMostCount = 1e9;

/// A range that --help does not spell out.
CLI::Validator within(double low, double high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value)) return fmt::format("expected a number, found '{}'", text);
    if (value >= low && value <= high) return {};
    return fmt::format("expected {} to {}, found {}", low, high, text);
  };
  return {check, ""};
}

CLI::Validator not_negative() { return CLI::Validator(CLI::NonNegativeNumber).description(""); }

/// The option takes one of some words, which --help shows.
CLI::Option* choose(CLI::Option* option, const std::vector<std::string>& words) {
  return option->check(CLI::IsMember(words).description(""))
      ->type_name(CLI::detail::join(words, "|"))
      ->capture_default_str();
}

void add_padding(CLI::App& app, EngineOptions& engine) {
  choose(app.add_option("--padding", engine.padding,
                        "zeros: padding of texts is not computed where a mask bars it, outputs of tokens are zero "
                        "there; compute: they hold what the network makes of it"),
         {"zeros", "compute"})
      ->group("Engine");
}

void add_numa(CLI::App& app, EngineOptions& engine) {
  app.add_option("--numa", engine.numa,
                 "On several NUMA nodes: replicate (a copy of the weights a node), interleave, node=N or off (default: "
                 "replicate while memory allows)")
      ->type_name("POLICY")
      ->group("Engine");
}

void add_engine(CLI::App& app, EngineOptions& engine) {
  app.add_option("--threads", engine.threads, "Threads; 0: one per physical core that this process may use")
      ->check(within(0.0, kMostThreads))
      ->type_name("N")
      ->group("Engine");
  choose(app.add_option("--schedule", engine.schedule,
                        "columns (depth-wise), layers (one after another) or auto (cost model)"),
         {"auto", "columns", "layers"})
      ->group("Engine");
  choose(
      app.add_option("--math", engine.math,
                     "fast (Winograd, matrix units, subnormal numbers count as zero; infinities may become NaN), exact "
                     "(none of these) or bf16 (fast, and products of numbers rounded to bf16 where that is faster)"),
      {"fast", "exact", "bf16"})
      ->group("Engine");
  app.add_option("--memory-limit", engine.memory_limit,
                 "Largest arena or tensor made apart from plans, e.g. 64M (K, M, G); refused when it cannot hold")
      ->type_name("BYTES")
      ->group("Engine");
  app.add_flag("--strict", engine.strict, "Refuse models of which some operator would run as an island")
      ->group("Engine");
  choose(app.add_option("--duel", engine.duel,
                        "on: of two plans that are predicted to be about as fast the first runs keep the faster one"),
         {"on", "off"})
      ->group("Engine");
  add_padding(app, engine);
  app.add_option(
         "--isa", engine.isa,
         "Instruction set tier: baseline, avx2, avxvnni, avx512, vnni, bf16 or amx (default: the best there is)")
      ->type_name("TIER")
      ->group("Engine");
  add_numa(app, engine);
  app.add_option("--blocking", engine.blocking,
                 "Class of machine whose kernels are chosen: another class's gives its bits (default: this machine's, "
                 "see colonnade machine)")
      ->type_name("CLASS")
      ->group("Engine");
}

void add_compiled(CLI::App& app, EngineOptions& engine) {
  app.add_option("--save-compiled", engine.compiled,
                 "File of packed weights and plans: used when it fits model, machine, version and options, else "
                 "written; loads much faster")
      ->type_name("FILE")
      ->group("Engine");
}

void add_shape(CLI::App& app, ShapeOptions& shape) {
  app.add_option("--shape", shape.shapes,
                 "Shape of an input, e.g. data:1x3x224x224; NAME: may be left out when there is "
                 "one input; repeatable")
      ->type_name("NAME:DIMS")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Inputs");
  app.add_option("--batch", shape.batch, "First dimension of all inputs that leave it open")
      ->check(within(1.0, kMostCount))
      ->type_name("N")
      ->group("Inputs");
}

void add_model(CLI::App& app, EngineOptions& engine) {
  app.add_option("MODEL", engine.model, "An ONNX file, or embedded:NAME (mobilenet, digits, unet)")
      ->required()
      ->type_name("");
}

void add_image(CLI::App& app, images::ImageOptions& image) {
  app.add_option("--mean", image.mean, "Images: subtracted after scaling, one value or one a channel")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("M[,M,M]")
      ->group("Images");
  app.add_option("--std", image.std, "Images: divided by after that, one value or one a channel")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false)
      ->check(CLI::Validator(CLI::PositiveNumber).description(""))
      ->type_name("S[,S,S]")
      ->group("Images");
  app.add_option("--scale", image.scale, "Images: factor on 0..255 (default: 1/255 for float inputs, else 1)")
      ->check(not_negative())
      ->type_name("F")
      ->group("Images");
  choose(app.add_option("--layout", image.layout, "Images: order of the input's dimensions"), {"auto", "nchw", "nhwc"})
      ->group("Images");
  choose(app.add_option("--color", image.color, "Images: channels (auto: gray for one channel, else rgb)"),
         {"auto", "rgb", "bgr", "gray"})
      ->group("Images");
}

void add_inputs(CLI::App& app, InputOptions& input) {
  app.add_option(
         "-i,--input", input.files,
         "Value of an input: .npy, .npz, .npz:ARRAY, .pb (TensorProto), .png or .jpg; NAME= may be left out when "
         "there is one input, or for a .npz whose arrays have the inputs' names; repeatable. Others are random")
      ->type_name("[NAME=]FILE")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Inputs");
  app.add_option("--seed", input.seed, "Seed of random inputs")->type_name("N")->capture_default_str()->group("Inputs");
  app.add_flag("--cast", input.cast, "Convert inputs whose type differs from the model's")->group("Inputs");
  add_image(app, input.image);
}

}  // namespace

void add_arguments(CLI::App& app, BenchOptions& options) {
  options.engine.model = "embedded:mobilenet";
  app.add_option("MODEL", options.engine.model, "An ONNX file, or embedded:NAME (mobilenet, digits, unet)")
      ->capture_default_str()
      ->type_name("");
  app.add_option("--streams", options.streams,
                 "Inferences that run at the same time, each with threads/streams threads")
      ->check(within(1.0, kMostThreads))
      ->capture_default_str()
      ->type_name("N")
      ->group("Measurement");
  app.add_option("--warmup", options.warmup, "Untimed runs of every stream after the first one")
      ->check(within(0.0, kMostCount))
      ->capture_default_str()
      ->type_name("N")
      ->group("Measurement");
  auto* iterations =
      app.add_option("--iterations", options.iterations, "Timed runs of every stream, instead of a duration")
          ->check(within(1.0, kMostCount))
          ->type_name("N")
          ->group("Measurement");
  app.add_option("--duration", options.duration_seconds, "Seconds of timed runs")
      ->check(within(0.0, 86400.0))
      ->capture_default_str()
      ->excludes(iterations)
      ->type_name("SECONDS")
      ->group("Measurement");
  app.add_option("--seed", options.seed, "Seed of the random inputs")
      ->type_name("N")
      ->capture_default_str()
      ->group("Inputs");
  add_shape(app, options.shape);
  app.add_option("--lengths", options.lengths,
                 "Texts of these lengths, each once and then again: a file with one a line, or 256 of "
                 "lognormal:MEDIAN[:SHORTEST:LONGEST]; --batch pads neighbours to one length")
      ->type_name("WHAT")
      ->excludes("--shape")
      ->excludes("--streams")
      ->excludes("--warmup")
      ->excludes("--iterations")
      ->excludes("--duration")
      ->group("Inputs");
  add_engine(app, options.engine);
  add_compiled(app, options.engine);
  app.add_flag("--json", options.json, "Print one JSON object (schema colonnade.bench/1)")->group("Output");
  app.add_option("--trace", options.trace, "Write a trace of one profiled run for Perfetto or chrome://tracing")
      ->type_name("FILE")
      ->excludes("--lengths")
      ->group("Output");
  app.add_flag("--quiet", options.quiet, "Print latency and throughput only, and no progress")->group("Output");
  app.footer(
      "Examples:\n"
      "  colonnade bench\n"
      "  colonnade bench net.onnx --threads 4 --duration 10\n"
      "  colonnade bench net.onnx --shape data:1x3x1080x1920 --schedule layers --json\n"
      "  colonnade bench bert.onnx --batch 8 --shape input_ids:8x128 --streams 2\n"
      "  colonnade bench bert.onnx --lengths lognormal:180 --threads 2");
}

void add_arguments(CLI::App& app, RunOptions& options) {
  add_model(app, options.engine);
  add_inputs(app, options.input);
  add_shape(app, options.shape);
  add_engine(app, options.engine);
  add_compiled(app, options.engine);
  app.add_option(
         "-o,--output", options.outputs,
         "Write an output: .npy, .npz or .pb; NAME= may be left out when there is one output, or for a .npz that "
         "takes all; repeatable")
      ->type_name("[NAME=]FILE")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Output");
  app.add_option("--output-dir", options.output_folder, "Write every output to DIR/NAME.npy")
      ->type_name("DIR")
      ->group("Output");
  app.add_option("--save-inputs", options.saved_inputs_folder,
                 "Write the inputs used, random ones too, to DIR/inputs.npz")
      ->type_name("DIR")
      ->group("Output");
  app.add_option("--top-k", options.top_k,
                 "Print the K largest elements of each 1-D or 2-D float output (default: 5 for "
                 "outputs that look like a classifier's; 0: none)")
      ->check(within(0.0, 1e6))
      ->type_name("K")
      ->group("Output");
  app.add_option("--labels", options.labels, "Names of the classes, one a line")->type_name("FILE")->group("Output");
  app.add_flag("--quiet", options.quiet, "Print nothing but errors")->group("Output");
  app.footer(
      "Examples:\n"
      "  colonnade run embedded:digits --input seven.png\n"
      "  colonnade run net.onnx --input cat.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --labels names.txt\n"
      "  colonnade run net.onnx --input ids=ids.npy --input mask=mask.npy --output out.npz\n"
      "  colonnade run net.onnx --seed 7 --save-inputs case --output case/outputs.npz");
}

void add_arguments(CLI::App& app, ExplainOptions& options) {
  add_model(app, options.engine);
  choose(app.add_option("--stage", options.stage,
                        "Print a value of the pipeline instead: graph, optimized, plan or program"),
         {"graph", "optimized", "plan", "program"})
      ->group("Output");
  app.add_option("--html", options.html, "Write a self-contained page that draws the columns")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--measure", options.measure,
               "Run the model on random inputs and show measured beside predicted time of each segment")
      ->group("Output");
  app.add_flag("--memory", options.memory, "Show the memory that the model needs, and what it then takes")
      ->group("Output");
  app.add_flag("--json", options.json, "Print the description as one JSON object")->group("Output");
  add_shape(app, options.shape);
  add_engine(app, options.engine);
  add_compiled(app, options.engine);
  app.footer(
      "Examples:\n"
      "  colonnade explain net.onnx\n"
      "  colonnade explain net.onnx --measure\n"
      "  colonnade explain net.onnx --shape 1x3x1080x1920 --html columns.html\n"
      "  colonnade explain embedded:unet --stage plan");
}

void add_arguments(CLI::App& app, CheckOptions& options) {
  add_model(app, options.engine);
  app.add_option(
         "--data", options.data,
         "Folder of expected values: input_N.pb and output_N.pb, test_data_set_* folders of such, or inputs.npz "
         "and outputs.npz; without it, the reference evaluation of random inputs is expected")
      ->type_name("DIR")
      ->group("Expectation");
  app.add_option("--expect", options.expected, "Expected value of an output: .npy, .npz or .pb; repeatable")
      ->type_name("[NAME=]FILE")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Expectation");
  app.add_option("--rtol", options.relative_tolerance, "Relative tolerance (default: by type)")
      ->check(not_negative())
      ->type_name("R")
      ->group("Expectation");
  app.add_option("--atol", options.absolute_tolerance, "Absolute tolerance, relative to the largest expected element")
      ->check(not_negative())
      ->type_name("A")
      ->group("Expectation");
  app.add_flag("--schedules", options.schedules, "Also compare schedules and thread counts bit by bit")
      ->group("Expectation");
  app.add_flag("--layers", options.layers, "Also print how far each layer is from its run with --math fast")
      ->group("Expectation");
  add_inputs(app, options.input);
  add_shape(app, options.shape);
  options.engine.padding = "compute";
  add_engine(app, options.engine);
  app.add_flag("--quiet", options.quiet, "Print the verdict only, and no progress")->group("Output");
  app.footer(
      "Default tolerance: |difference| <= 1e-4 * max|expected| + 1e-3 * |expected| for float32 and float64 (1e-5 "
      "instead of\n"
      "1e-4 with --math exact), 1e-2 for float16, 4e-2 for bfloat16 and with --math bf16; all other types must be "
      "equal.\n"
      "Examples:\n"
      "  colonnade check net.onnx\n"
      "  colonnade check net.onnx --data net_test_data --math exact\n"
      "  colonnade check net.onnx --input x=x.npy --expect y=y.npy");
}

void add_arguments(CLI::App& app, MachineOptions& options) {
  app.add_flag("--json", options.json, "Print one JSON object");
  app.add_flag("--no-measure", options.no_measure, "Show the rates that plans use now instead of measuring");
}

void add_arguments(CLI::App& app, QuantizeOptions& options) {
  app.add_option("MODEL", options.model, "An ONNX file of float32")->required()->type_name("");
  app.add_option("-o,--output", options.output, "The ONNX file to write")->required()->type_name("FILE");
  app.add_option("--data", options.data,
                 "What the network will meet, to find ranges: images, .npz, .npy or .pb files, or folders of such; "
                 "an array holds one sample or several, in its first dimension")
      ->type_name("PATH")
      ->group("Calibration");
  app.add_flag("--random", options.random, "Calibrate with noise; the ranges are not those of real inputs")
      ->group("Calibration");
  app.add_option("--samples", options.samples, "Samples at most, evenly spread over the data")
      ->check(within(1.0, kMostCount))
      ->capture_default_str()
      ->type_name("N")
      ->group("Calibration");
  choose(app.add_option("--method", options.method,
                        "Range of a tensor: 99.999 % of its values, the least mean square of errors, or all values"),
         {"percentile", "mse", "minmax"})
      ->group("Calibration");
  app.add_flag("--cast", options.cast, "Convert data whose type differs from the model's")->group("Calibration");
  app.add_option("--weights-only", options.weights_only,
                 "Weights alone, without calibration: int8 by channel, or int4 in blocks of 32 (matrices; other "
                 "weights int8)")
      ->check(CLI::IsMember({"int8", "int4"}).description(""))
      ->type_name("int8|int4")
      ->group("Layers");
  app.add_option("--keep", options.keep, "Nodes that stay float32, by name")->type_name("NODE")->group("Layers");
  app.add_option("--sqnr", options.least_sqnr,
                 "Least ratio of signal to error of the last layers, in dB: the worst layers, a third at most, stay "
                 "float32 until it is reached")
      ->check(within(0.0, 200.0))
      ->capture_default_str()
      ->type_name("DB")
      ->group("Layers");
  add_shape(app, options.shape);
  add_image(app, options.image);
  app.add_option("--threads", options.threads, "Threads; 0: one per physical core that this process may use")
      ->check(within(0.0, kMostThreads))
      ->type_name("N")
      ->group("Engine");
  app.add_flag("--quiet", options.quiet, "Print the summary only, and no progress")->group("Output");
  app.footer(
      "Examples:\n"
      "  colonnade quantize net.onnx -o net.int8.onnx --data photos --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225\n"
      "  colonnade quantize bert.onnx -o bert.int8.onnx --data texts.npz --samples 200 --method mse\n"
      "  colonnade quantize net.onnx -o net.int8.onnx --data a.png b.png --keep /head/Conv --sqnr 25\n"
      "  colonnade quantize decoder.onnx -o decoder.int4.onnx --weights-only int4");
}

void add_arguments(CLI::App& app, OptimizeOptions& options) {
  app.add_option("MODEL", options.model, "An ONNX file, or embedded:NAME")->required()->type_name("");
  app.add_option("-o,--output", options.output, "The ONNX file to write")->required()->type_name("FILE");
  app.add_option("--weights", options.weights, "Keep large constants in a file of this name beside it")
      ->type_name("NAME");
  app.add_option("--dimension", options.dimensions, "Size of an open dimension; repeatable")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("SYMBOL=SIZE");
  app.footer(
      "Examples:\n"
      "  colonnade optimize net.onnx -o smaller.onnx\n"
      "  colonnade optimize bert.onnx -o bert.1.onnx --dimension batch=1 --weights bert.1.data");
}

}  // namespace colonnade::cli
