// SPDX-License-Identifier: Apache-2.0
#include "argument_groups.hpp"

#include <fmt/format.h>

namespace colonnade::cli {

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

CLI::Option* choose(CLI::Option* option, const std::vector<std::string>& words) {
  return option->check(CLI::IsMember(words).description(""))
      ->type_name(CLI::detail::join(words, "|"))
      ->capture_default_str();
}

namespace {

void add_padding(CLI::App& app, EngineOptions& engine) {
  choose(app.add_option("--padding", engine.padding,
                        "zeros: padding of texts is not computed where a mask bars it, outputs of tokens are zero "
                        "there; compute: they hold what the network makes of it"),
         {"zeros", "compute"})
      ->group("Engine");
}

void add_dynamic_scale(CLI::App& app, EngineOptions& engine) {
  choose(app.add_option("--dynamic-scale", engine.dynamic_scale,
                        "Over what dynamic quantisation takes a scale: the whole tensor, as ONNX has it; a sequence, "
                        "so that answers do not depend on neighbours in a batch; or a row of features"),
         {"tensor", "sequence", "row"})
      ->group("Engine");
}

void add_numa(CLI::App& app, EngineOptions& engine) {
  app.add_option("--numa", engine.numa,
                 "On several NUMA nodes: replicate (a copy of the weights a node), interleave, node=N or off (default: "
                 "replicate while memory allows)")
      ->type_name("POLICY")
      ->group("Engine");
}

}  // namespace

void add_planning(CLI::App& app, EngineOptions& engine) {
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
}

void add_engine(CLI::App& app, EngineOptions& engine) {
  app.add_option("--threads", engine.threads, "Threads; 0: one per physical core that this process may use")
      ->check(within(0.0, kMostThreads))
      ->type_name("N")
      ->group("Engine");
  add_planning(app, engine);
  app.add_flag("--strict", engine.strict, "Refuse models of which some operator would run as an island")
      ->group("Engine");
  choose(app.add_option("--duel", engine.duel,
                        "on: of two plans that are predicted to be about as fast the first runs keep the faster one"),
         {"on", "off"})
      ->group("Engine");
  add_padding(app, engine);
  add_dynamic_scale(app, engine);
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

}  // namespace colonnade::cli
