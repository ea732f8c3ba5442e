// SPDX-License-Identifier: Apache-2.0
// The CLI as users meet it: arguments in; exit status, text and files out.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "frontends/cli/compare.hpp"
#include "frontends/cli/files.hpp"
#include "frontends/cli/npy.hpp"
#include "frontends/cli/numbers.hpp"
#include "markup.hpp"
#include "onnx/builder.hpp"
#include "shell.hpp"
#include "support/image_files.hpp"

namespace colonnade::test {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDigits = "embedded:digits";

/// One line on stderr, the expected status, nothing on stdout.
void expect_refusal(const std::vector<std::string>& arguments, int status, const std::string& part = "") {
  const CliResult result = run_cli(arguments);
  std::string line;
  for (const std::string& word : arguments) line += word + " ";
  EXPECT_EQ(result.status, status) << line << result.err;
  EXPECT_EQ(result.out, "") << line;
  EXPECT_TRUE(result.err.starts_with("colonnade: error: ")) << line << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << line << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << line << result.err;
}

CliResult expect_good(const std::vector<std::string>& arguments) {
  CliResult result = run_cli(arguments);
  EXPECT_EQ(result.status, 0) << arguments[0] << ": " << result.err;
  EXPECT_EQ(result.err, "") << arguments[0];
  return result;
}

std::string bytes_of_file(const std::string& path) {
  const std::vector<std::byte> bytes = cli::read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The digits model's input: its name and its shape for one image.
struct DigitsInput {
  std::string name;
  Shape shape;
};

DigitsInput digits_input() {
  const Json input = describe(kDigits)["inputs"][0];
  DigitsInput result{input["name"], {}};
  for (const Json& dimension : input["shape"])
    result.shape.push_back(dimension.is_number() ? std::max(dimension.get<std::int64_t>(), std::int64_t{1}) : 1);
  return result;
}

TEST(Usage, VersionAndHelp) {
  EXPECT_EQ(expect_good({"--version"}).out, "colonnade " COLONNADE_VERSION "\n");
  EXPECT_EQ(expect_good({"version"}).out, "colonnade " COLONNADE_VERSION "\n");
  for (const char* command : {"bench", "run", "explain", "check", "machine", "quantize"}) {
    const CliResult result = expect_good({command, "--help"});
    EXPECT_NE(result.out.find(std::string("Usage: colonnade ") + command), std::string::npos) << result.out;
    EXPECT_NE(expect_good({"--help"}).out.find(command), std::string::npos);
  }
}

TEST(Usage, WrongUseIsTwo) {
  expect_refusal({}, 2);
  expect_refusal({"fly"}, 2, "there is no command 'fly'; there are: bench, run, explain, check, machine, quantize");
  expect_refusal({"benhc"}, 2, "there is no command 'benhc'; did you mean 'bench'?");
  expect_refusal({"chek", kDigits}, 2, "did you mean 'check'?");
  expect_refusal({"bench", kDigits, "--threads", "abc"}, 2, "--threads: expected a number, found 'abc'");
  expect_refusal({"bench", kDigits, "--threads", "5000"}, 2, "--threads: expected 0 to 4096, found 5000");
  expect_refusal({"bench", "--nosuch"}, 2);
  expect_refusal({"run"}, 2, "MODEL");
  expect_refusal({"bench", kDigits, "--iterations", "x"}, 2, "iterations");
  expect_refusal({"bench", kDigits, "--iterations", "0"}, 2, "iterations");
  expect_refusal({"bench", kDigits, "--threads", "-1"}, 2, "threads");
  expect_refusal({"bench", kDigits, "--schedule", "rows"}, 2, "schedule");
  expect_refusal({"bench", kDigits, "--streams", "4", "--threads", "2"}, 2, "streams");
  expect_refusal({"bench", kDigits, "--memory-limit", "lots"}, 2, "lots");
  expect_refusal({"bench", kDigits, "--isa", "abacus"}, 2, "abacus");
  expect_refusal({"bench", kDigits, "--shape", "1xx28"}, 2, "1xx28");
  expect_refusal({"bench", kDigits, "--shape", "nosuch:1x1x28x28"}, 2, "nosuch");
  expect_refusal({"explain", kDigits, "--shape", "1x1x28x28x28x28"}, 2, "rank");
  expect_refusal({"explain", "embedded:nosuch"}, 2, "nosuch");
}

TEST(Usage, InvalidModelsAreThree) {
  const TemporaryFolder folder;
  cli::write_file(folder.file("garbage.onnx"), "this is no model");
  cli::write_file(folder.file("empty.onnx"), "");
  for (const char* command : {"bench", "run", "explain", "check"}) {
    expect_refusal({command, folder.file("missing.onnx")}, 3, "missing.onnx");
    expect_refusal({command, folder.file("garbage.onnx")}, 3);
    expect_refusal({command, folder.file("empty.onnx")}, 3);
    expect_refusal({command, folder.path()}, 3, "folder");
  }
}

TEST(Usage, InvalidInputsAreThreeAndUnknownNamesTwo) {
  const TemporaryFolder folder;
  cli::write_file(folder.file("bad.npy"), "\x93NUMPY and no more");
  cli::write_file(folder.file("bad.npz"), "PK");
  cli::write_file(folder.file("bad.png"), "no picture");
  cli::write_file(folder.file("bad.jpg"), "\xff\xd8\xff");
  cli::write_file(folder.file("bad.txt"), "words");
  for (const char* name : {"bad.npy", "bad.npz", "bad.png", "bad.jpg", "bad.txt", "absent.npy"})
    expect_refusal({"run", kDigits, "--input", folder.file(name)}, 3, name);
  cli::write_file(folder.file("ints.npy"), cli::format_npy(cli::random_tensor(DType::i32, digits_input().shape, 1)));
  expect_refusal({"run", kDigits, "--input", folder.file("ints.npy")}, 3, "int32");
  EXPECT_EQ(run_cli({"run", kDigits, "--cast", "--input", folder.file("ints.npy")}).status, 0);
  expect_refusal({"run", kDigits, "--input", "nosuch=" + folder.file("bad.npy")}, 2, "nosuch");
  expect_refusal({"run", kDigits, "--output", "nosuch=" + folder.file("out.npy")}, 2, "nosuch");
}

TEST(Usage, UnwritableOutputsAreOne) {
  const TemporaryFolder folder;
  expect_refusal({"run", kDigits, "--output", folder.file("none/out.npy")}, 1, "out.npy");
  expect_refusal({"explain", kDigits, "--html", folder.file("none/page.html")}, 1, "page.html");
}

TEST(Usage, AReaderThatLeavesDoesNoHarm) {
  const CliResult result = run_cli_unread({"explain", kDigits});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
}

TEST(Bench, JsonHasEveryMember) {
  const CliResult result = expect_good({"bench", kDigits, "--iterations", "5", "--warmup", "1", "--json"});
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["schema"], "colonnade.bench/1");
  EXPECT_EQ(json["model"], kDigits);
  EXPECT_TRUE(json["machine"].is_object());
  for (const char* key :
       {"threads", "streams", "batch", "load_ms", "plan_ms", "first_run_ms", "throughput_per_s", "weights_bytes",
        "arena_bytes", "idle_rss_bytes", "peak_rss_bytes", "flop", "gflops", "percent_of_peak"})
    EXPECT_TRUE(json[key].is_number()) << key;
  for (const char* key :
       {"load_ms", "first_run_ms", "throughput_per_s", "peak_rss_bytes", "flop", "gflops", "weights_bytes"})
    EXPECT_GT(json[key].get<double>(), 0) << key;
  for (const char* key : {"segments", "islands", "operators"}) EXPECT_TRUE(json[key].is_array()) << key;
  EXPECT_TRUE(json["schedule"].is_string());
  EXPECT_FALSE(json["segments"].empty());
  EXPECT_FALSE(json["operators"].empty());
  EXPECT_EQ(json["runs"], 5);
  double previous = 0;
  for (const char* key : {"min", "p50", "p90", "p95", "p99", "max"}) {
    ASSERT_TRUE(json["latency_ms"][key].is_number()) << key;
    EXPECT_GE(json["latency_ms"][key].get<double>(), previous) << key;
    previous = json["latency_ms"][key];
  }
  EXPECT_GE(json["peak_rss_bytes"].get<double>(), json["idle_rss_bytes"].get<double>());
  EXPECT_EQ(result.out.find("nan"), std::string::npos);
}

TEST(Bench, StreamsCountTogether) {
  const Json json = Json::parse(expect_good({"bench", kDigits, "--iterations", "4", "--streams", "2", "--json"}).out);
  EXPECT_EQ(json["streams"], 2);
  EXPECT_EQ(json["runs"], 8);
  EXPECT_EQ(json["threads"].get<int>() % 2, 0);
}

TEST(Bench, TextAndTrace) {
  const TemporaryFolder folder;
  const CliResult result =
      expect_good({"bench", kDigits, "--iterations", "3", "--threads", "1", "--trace", folder.file("trace.json")});
  for (const char* part : {"latency of 3 runs", "throughput", "FMA peak", "segment", "islands"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
  const Json trace = Json::parse(bytes_of_file(folder.file("trace.json")));
  const Json& events = trace.is_array() ? trace : trace["traceEvents"];
  ASSERT_FALSE(events.empty());
  for (const Json& event : events) EXPECT_TRUE(event.contains("ph") && event.contains("name"));
}

TEST(Bench, DurationEnds) {
  const Json json = Json::parse(expect_good({"bench", kDigits, "--duration", "0.05", "--json"}).out);
  EXPECT_GE(json["runs"].get<int>(), 1);
}

TEST(Run, RoundTripsThroughEveryFormat) {
  const TemporaryFolder folder;
  const DigitsInput input = digits_input();
  cli::write_file(folder.file("x.npy"), cli::format_npy(cli::random_tensor(DType::f32, input.shape, 5)));
  for (const char* extension : {"npy", "npz", "pb"})
    expect_good(
        {"run", kDigits, "--input", folder.file("x.npy"), "--output", folder.file(std::string("y.") + extension)});
  const Tensor npy = cli::parse_npy(cli::read_file(folder.file("y.npy")), "y.npy");
  EXPECT_GT(npy.size(), 1);
  EXPECT_TRUE(cli::identical(npy, cli::parse_npz(cli::read_file(folder.file("y.npz")), "y.npz")[0].tensor));
  EXPECT_TRUE(cli::identical(npy, Tensor::from_onnx(cli::read_file(folder.file("y.pb")))));

  const Tensor x = cli::parse_npy(cli::read_file(folder.file("x.npy")), "x.npy");
  cli::write_file(folder.file("x.pb"), x.to_onnx(input.name));
  const std::vector<cli::TensorReference> items{{"other", &npy}, {input.name, &x}};
  cli::write_file(folder.file("x.npz"), cli::format_npz(items));
  for (const std::string& file : {folder.file("x.pb"), folder.file("x.npz"), folder.file("x.npz") + ":" + input.name}) {
    expect_good({"run", kDigits, "--input", input.name + "=" + file, "--output", folder.file("again.npy")});
    EXPECT_EQ(bytes_of_file(folder.file("again.npy")), bytes_of_file(folder.file("y.npy"))) << file;
  }
}

TEST(Run, SavedInputsGiveTheSameOutputs) {
  const TemporaryFolder folder;
  expect_good({"run", kDigits, "--seed", "9", "--save-inputs", folder.path(), "--output", folder.file("outputs.npz")});
  expect_good({"run", kDigits, "--input", folder.file("inputs.npz"), "--output", folder.file("again.npz")});
  EXPECT_EQ(bytes_of_file(folder.file("outputs.npz")), bytes_of_file(folder.file("again.npz")));
  const CliResult check = expect_good({"check", kDigits, "--data", folder.path()});
  EXPECT_TRUE(check.out.ends_with("PASS\n")) << check.out;
}

TEST(Run, PictureEqualsItsPixelsAsNumbers) {
  const TemporaryFolder folder;
  const DigitsInput input = digits_input();
  ASSERT_EQ(input.shape.size(), 4u);
  const bool channels_last = input.shape[3] == 1 || input.shape[3] == 3;
  const auto height = static_cast<int>(input.shape[channels_last ? 1 : 2]);
  const auto width = static_cast<int>(input.shape[channels_last ? 2 : 3]);
  Picture image{width, height, {}};
  std::vector<double> values;
  for (int i = 0; i < width * height; ++i) {
    const bool ink = (i % width) > width / 3 && (i % width) < width / 2;
    image.rgb.insert(image.rgb.end(), 3, ink ? 255 : 0);
    values.push_back(ink ? 1 : 0);
  }
  ASSERT_EQ(element_count(input.shape), static_cast<std::int64_t>(values.size())) << "digits takes one gray channel";
  cli::write_file(folder.file("x.png"), png_of(image));
  cli::write_file(folder.file("x.npy"), cli::format_npy(cli::from_doubles(DType::f32, input.shape, values)));
  const CliResult shown =
      expect_good({"run", kDigits, "--input", folder.file("x.png"), "--output", folder.file("a.npy")});
  expect_good({"run", kDigits, "--input", folder.file("x.npy"), "--output", folder.file("b.npy")});
  EXPECT_NE(shown.out.find("class"), std::string::npos) << shown.out;
  const auto read = [&](const char* name) { return cli::parse_npy(cli::read_file(folder.file(name)), name); };
  EXPECT_TRUE(cli::compare(read("a.npy"), read("b.npy"), {1e-4, 1e-4}).equal);
}

TEST(Run, SchedulesAndThreadsGiveTheSameBits) {
  const TemporaryFolder folder;
  expect_good({"run", kDigits, "--schedule", "columns", "--threads", "1", "--output", folder.file("columns.npy")});
  for (const char* schedule : {"columns", "layers", "auto"}) {
    expect_good({"run", kDigits, "--schedule", schedule, "--threads", "2", "--output", folder.file("other.npy")});
    EXPECT_EQ(bytes_of_file(folder.file("columns.npy")), bytes_of_file(folder.file("other.npy"))) << schedule;
  }
}

TEST(Run, FoldersAndTopK) {
  const TemporaryFolder folder;
  const std::string output = describe(kDigits)["outputs"][0]["name"];
  const CliResult result = expect_good({"run", kDigits, "--output-dir", folder.file("new/out"), "--top-k", "3"});
  EXPECT_TRUE(std::filesystem::exists(folder.file("new/out/" + output + ".npy")));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 5) << result.out;
  EXPECT_EQ(expect_good({"run", kDigits, "--quiet"}).out, "");
}

TEST(Explain, TextJsonAndStages) {
  const std::string measured = expect_good({"explain", kDigits, "--measure"}).out;
  EXPECT_NE(measured.find("predicted"), std::string::npos);
  EXPECT_NE(measured.find(", measured "), std::string::npos);
  const Json plan = Json::parse(expect_good({"explain", kDigits, "--measure", "--json"}).out);
  double total = 0;
  for (const Json& segment : plan["segments"]) total += segment["measured_ms"].get<double>();
  EXPECT_GT(total, 0);
  EXPECT_NE(expect_good({"explain", kDigits}).out.find("segment 0"), std::string::npos);
  EXPECT_TRUE(describe(kDigits)["segments"].is_array());
  for (const char* stage : {"graph", "optimized", "plan", "program"})
    EXPECT_GT(expect_good({"explain", kDigits, "--stage", stage}).out.size(), 5u) << stage;
}

TEST(Explain, HtmlIsWellFormedAndAlone) {
  const TemporaryFolder folder;
  for (const char* model : {"embedded:digits", "embedded:mobilenet"}) {
    expect_good({"explain", model, "--html", folder.file("page.html")});
    const std::string page = bytes_of_file(folder.file("page.html"));
    EXPECT_EQ(markup_fault(page), "") << model;
    EXPECT_NE(page.find("<svg "), std::string::npos);
    for (const char* banned : {"http://", "https://", "<script"})
      EXPECT_EQ(page.find(banned), std::string::npos) << banned;
  }
}

TEST(Machine, JsonAndTable) {
  const Json json = Json::parse(expect_good({"machine", "--json", "--no-measure"}).out);
  EXPECT_TRUE(json["isa"].is_string());
  const std::string own = json["blocking"].get<std::string>();
  EXPECT_NE(expect_good({"machine", "--no-measure"}).out.find(own), std::string::npos);
  EXPECT_NE(expect_good({"explain", kDigits}).out.find("blocking " + own), std::string::npos);
  for (const char* other : {"1m-near", "2m-far"})
    EXPECT_EQ(Json::parse(expect_good({"explain", kDigits, "--json", "--blocking", other}).out)["blocking"], other);
  expect_refusal({"explain", kDigits, "--blocking", "vast"}, 2, "2m-far");
  EXPECT_GE(json["default_threads"].get<int>(), 1);
  EXPECT_TRUE(json["rates"].is_object());
  EXPECT_EQ(json["nodes"].size(), json["numa_nodes"].get<std::size_t>());
}

TEST(Explain, SaysWhereMemoryIs) {
  EXPECT_EQ(Json::parse(expect_good({"explain", kDigits, "--json", "--numa", "off"}).out)["numa"]["policy"], "off");
  EXPECT_NE(expect_good({"explain", kDigits}).out.find("\nnuma  "), std::string::npos);
  expect_refusal({"explain", kDigits, "--numa", "near"}, 2, "replicate, interleave, node=N or off");
}

TEST(Machine, KeepsWhatItMeasures) {
  const TemporaryFolder folder;
  const std::string file = folder.file("cache/rates.json");
  setenv("COLONNADE_RATES", file.c_str(), 1);
  const auto warned = [&] {
    return expect_good({"bench", "embedded:digits", "--iterations", "2"}).out.find("colonnade machine") !=
           std::string::npos;
  };
  EXPECT_TRUE(warned());
  const std::string text = expect_good({"machine"}).out;
  EXPECT_NE(text.find("GFLOP/s"), std::string::npos);
  EXPECT_NE(text.find("kept in " + file), std::string::npos);
  EXPECT_EQ(Json::parse(expect_good({"machine", "--json", "--no-measure"}).out)["rates"]["source"], file);
  EXPECT_EQ(Json::parse(expect_good({"explain", "embedded:digits", "--json"}).out)["rates"]["source"], file);
  EXPECT_FALSE(warned());
  setenv("COLONNADE_RATES", folder.file("cache/rates.json/none.json").c_str(), 1);
  EXPECT_NE(expect_good({"machine"}).out.find("not kept: "), std::string::npos);
  unsetenv("COLONNADE_RATES");
}

class CheckEmbedded : public testing::TestWithParam<const char*> {};

TEST_P(CheckEmbedded, Passes) {
  const CliResult result = expect_good({"check", GetParam(), "--schedules"});
  EXPECT_TRUE(result.out.ends_with("PASS\n")) << result.out;
  EXPECT_NE(result.out.find("islands:"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Models, CheckEmbedded,
                         testing::Values("embedded:digits", "embedded:unet", "embedded:mobilenet"),
                         [](const auto& model) { return std::string(model.param).substr(9); });

/// The errors of bf16 are those of eight bits; they are told by layer too.
TEST(Check, TellsTheErrorsOfBf16) {
  const CliResult result =
      expect_good({"check", COLONNADE_SOURCE_DIR "/models/embedded/digits.onnx", "--math", "bf16", "--layers"});
  EXPECT_TRUE(result.out.ends_with("PASS\n")) << result.out;
  for (const char* text : {"mean error", "largest value", "Conv"})
    EXPECT_NE(result.out.find(text), std::string::npos) << result.out;
  expect_refusal({"check", kDigits, "--layers"}, 2, "--layers reads a file");
}

TEST(Check, WrongExpectationFails) {
  const TemporaryFolder folder;
  expect_good({"run", kDigits, "--seed", "3", "--output", folder.file("y.npy")});
  EXPECT_EQ(run_cli({"check", kDigits, "--seed", "3", "--expect", folder.file("y.npy")}).status, 0);
  Tensor y = cli::parse_npy(cli::read_file(folder.file("y.npy")), "y.npy");
  y.values<float>()[1] += 1;
  cli::write_file(folder.file("y.npy"), cli::format_npy(y));
  const CliResult result = run_cli({"check", kDigits, "--seed", "3", "--expect", folder.file("y.npy")});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.out.ends_with("FAIL\n")) << result.out;
  EXPECT_NE(result.out.find("1 of"), std::string::npos) << result.out;
}

/// The names in the files say which input each is: their numbers may follow another order.
TEST(Check, AssignsTestDataByName) {
  onnx_import::testing::ModelBuilder model;
  model.input("a", {2}).input("b", {2}).node("Sub", {"a", "b"}, {"y"}).output("y");
  const TemporaryFolder folder;
  const std::string path = folder.file("sub.onnx"), set = folder.file("test_data_set_0");
  cli::write_file(path, model.bytes());
  std::filesystem::create_directories(set);
  const auto write = [&](const std::string& file, const std::string& name, std::vector<float> values) {
    Tensor tensor(DType::f32, {2});
    std::copy(values.begin(), values.end(), tensor.values<float>().begin());
    cli::write_file(set + "/" + file, tensor.to_onnx(name));
  };
  write("input_0.pb", "b", {1, 2}), write("input_1.pb", "a", {5, 9}), write("output_0.pb", "y", {4, 7});
  expect_good({"check", path, "--data", folder.path()});
  write("input_0.pb", "", {5, 9}), write("input_1.pb", "", {1, 2});
  expect_good({"check", path, "--data", folder.path()});
  write("input_0.pb", "", {1, 2}), write("input_1.pb", "", {5, 9});
  EXPECT_EQ(run_cli({"check", path, "--data", folder.path()}).status, 1);
}

TEST(Check, ReadsOnnxTestFolders) {
  const TemporaryFolder folder;
  const std::string set = folder.file("test_data_set_0");
  std::filesystem::create_directories(set);
  expect_good({"run", kDigits, "--save-inputs", folder.path(), "--output", set + "/output_0.pb"});
  const auto inputs = cli::parse_npz(cli::read_file(folder.file("inputs.npz")), "inputs.npz");
  std::filesystem::remove(folder.file("inputs.npz"));
  cli::write_file(set + "/input_0.pb", inputs[0].tensor.to_onnx(inputs[0].name));
  const CliResult good = expect_good({"check", kDigits, "--data", folder.path()});
  EXPECT_NE(good.out.find("test_data_set_0/"), std::string::npos) << good.out;
  cli::write_file(set + "/input_0.pb", "rubbish");
  expect_refusal({"check", kDigits, "--quiet", "--data", folder.path()}, 3, "input_0.pb");
  expect_refusal({"check", kDigits, "--quiet", "--data", folder.file("nosuch")}, 3, "nosuch");
}

}  // namespace
}  // namespace colonnade::test
