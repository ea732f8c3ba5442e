// SPDX-License-Identifier: Apache-2.0
// Texts of mixed lengths: which ones, what the benchmark says of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "frontends/cli/bench_lengths.hpp"
#include "frontends/cli/files.hpp"
#include "markup.hpp"
#include "onnx/builder.hpp"
#include "shell.hpp"

namespace colonnade::test {
namespace {

using Json = nlohmann::ordered_json;
using onnx_import::testing::float_tensor;
using onnx_import::testing::ModelBuilder;

std::string path_of(const std::string& name) { return testing::TempDir() + "colonnade_lengths_" + name; }

/// ids [batch, tokens], mask [batch, tokens]: a table's rows by the mask.
std::string model_file() {
  ModelBuilder model;
  for (const char* name : {"ids", "mask"}) {
    model.input(name, {-1, -1}, onnx::TensorProto::INT64);
    auto* shape =
        model.proto.mutable_graph()->mutable_input()->rbegin()->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(0)->set_dim_param("batch");
    shape->mutable_dim(1)->set_dim_param("tokens");
  }
  model.constant(float_tensor("table", {40, 8}, std::vector<float>(320, 0.5f)));
  model.node("Gather", {"table", "ids"}, {"rows"});
  model.node("ReduceSum", {"rows"}, {"sums"});
  model.node("Cast", {"mask"}, {"factor"}, {onnx_import::testing::attribute("to", 1)});
  model.node("Mul", {"factor", "sums"}, {"y"});
  const std::string path = path_of("model.onnx");
  cli::write_file(path, model.output("y").bytes());
  return path;
}

TEST(Lengths, AreDrawnAlikeFromASeedAndWithinBounds) {
  const auto lengths = cli::lengths_of("lognormal:180", 1);
  EXPECT_EQ(lengths, cli::lengths_of("lognormal:180", 1));
  EXPECT_NE(lengths, cli::lengths_of("lognormal:180", 2));
  EXPECT_EQ(lengths.size(), 256u);
  auto sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_GE(sorted.front(), 8);
  EXPECT_LE(sorted.back(), 480);
  EXPECT_NEAR(static_cast<double>(sorted[128]), 180, 30);
  EXPECT_GT(std::count_if(sorted.begin(), sorted.end(), [](std::int64_t n) { return n > 300; }), 20);
  const auto narrow = cli::lengths_of("lognormal:50:40:60", 1);
  EXPECT_EQ(*std::min_element(narrow.begin(), narrow.end()), 40);
  EXPECT_EQ(*std::max_element(narrow.begin(), narrow.end()), 60);
}

TEST(Lengths, AreReadFromAFileLineByLine) {
  cli::write_file(path_of("some"), "12\r\n7\n\n500");
  EXPECT_EQ(cli::lengths_of(path_of("some"), 1), (std::vector<std::int64_t>{12, 7, 500}));
  for (const char* wrong : {"", "\n", "0\n", "-1\n", "3 4\n", "3.5\n", "word\n", "9999999999999999999999\n"}) {
    cli::write_file(path_of("wrong"), wrong);
    EXPECT_THROW(cli::lengths_of(path_of("wrong"), 1), Error) << wrong;
  }
  for (const char* wrong : {"lognormal:", "lognormal:0", "lognormal:8:9", "lognormal:50:60:40", "lognormal:1:2:3:4",
                            "lognormal:x", "/no/such/file"})
    EXPECT_THROW(cli::lengths_of(wrong, 1), Error) << wrong;
}

TEST(Lengths, AreAnOpenDimensionOfOneSymbol) {
  const auto input = [](Shape shape, std::vector<std::string> names) {
    TensorInfo info;
    info.shape = std::move(shape);
    info.dim_names = std::move(names);
    return info;
  };
  const auto check = [](const std::vector<TensorInfo>& inputs) { cli::check_has_length(inputs); };
  EXPECT_NO_THROW(check({input({-1, -1}, {"b", "n"}), input({1, 3}, {"", ""}), input({-1, 1, -1}, {"b", "", "n"})}));
  EXPECT_THROW(check({input({1, -1, -1}, {"", "h", "w"})}), Error);
  EXPECT_THROW(check({input({-1, 8}, {"n", ""})}), Error);
}

TEST(Lengths, BenchmarkCountsTextsTokensAndShapes) {
  const std::string model = model_file();
  cli::write_file(path_of("four"), "4\n9\n4\n2\n9\n");
  const CliResult alone = run_cli({"bench", model, "--lengths", path_of("four"), "--json"});
  ASSERT_EQ(alone.status, 0) << alone.err;
  const Json one = Json::parse(alone.out);
  EXPECT_EQ(one["schema"], "colonnade.bench-lengths/1");
  EXPECT_EQ(one["texts"], 5);
  EXPECT_EQ(one["calls"], 5);
  EXPECT_EQ(one["tokens"], 28);
  EXPECT_EQ(one["new_shapes"], 3);
  EXPECT_EQ(one["padding"], 0.0);
  EXPECT_EQ(one["plans"], 4) << "one of a token alone";
  EXPECT_GT(one["ms_per_text"], 0.0);
  EXPECT_GE(one["peak_rss_bytes"], one["idle_rss_bytes"]);
  const CliResult batched = run_cli({"bench", model, "--lengths", path_of("four"), "--batch", "2", "--json"});
  ASSERT_EQ(batched.status, 0) << batched.err;
  const Json two = Json::parse(batched.out);
  EXPECT_EQ(two["calls"], 3);
  EXPECT_EQ(two["new_shapes"], 3) << "2 x 9, 2 x 4, 1 x 9";
  EXPECT_NEAR(two["padding"].get<double>(), 1 - 28.0 / (18 + 8 + 9), 1e-9);
  const CliResult text = run_cli({"bench", model, "--lengths", "lognormal:20", "--threads", "1"});
  ASSERT_EQ(text.status, 0) << text.err;
  for (const char* part : {"texts        256 of 8 to ", "tokens ", "new shape ", "peak above idle "})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << text.out;
  const CliResult fixed = run_cli({"bench", "embedded:mobilenet", "--lengths", "lognormal:20"});
  EXPECT_EQ(fixed.status, cli::kWrongUse) << fixed.err;
}

}  // namespace
}  // namespace colonnade::test
