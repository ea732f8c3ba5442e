// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <limits>
#include <string>

#include "argument_groups.hpp"

namespace colonnade::cli {

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
  app.add_option("--accuracy-level", options.accuracy_level,
                 "Of --weights-only int4: 4 lets products round their rows to int8, with a scale for each 32 numbers, "
                 "which is faster; 0 does not")
      ->check(CLI::IsMember({0, 4}).description(""))
      ->type_name("0|4")
      ->capture_default_str()
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

void add_arguments(CLI::App& app, SimulateArguments& arguments) {
  add_model(app, arguments.engine);
  app.add_option(
         "--machine", arguments.machine,
         "Another machine: what `colonnade machine --json` printed there, or a file of bench/machines (default: "
         "this one, by its measured rates)")
      ->type_name("FILE");
  app.add_option("--threads", arguments.threads,
                 "Teams to simulate, e.g. 1,2,32 (default: 1, 2, 4 and so on, and all cores)")
      ->delimiter(',')
      ->check(within(1.0, kMostThreads))
      ->type_name("N[,N]");
  app.add_option("--trace", arguments.trace, "Write the last team's steps for Perfetto or chrome://tracing")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--json", arguments.json, "Print the report as one JSON object")->group("Output");
  add_shape(app, arguments.shape);
  add_planning(app, arguments.engine);
  app.footer(
      "Examples:\n"
      "  colonnade simulate net.onnx\n"
      "  colonnade simulate net.onnx --machine bench/machines/zen4-2x64.json --threads 1,32,128\n"
      "  colonnade simulate net.onnx --threads 2 --trace net.json");
}

}  // namespace colonnade::cli
