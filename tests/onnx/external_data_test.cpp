// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing {
namespace {

namespace fs = std::filesystem;
using Keys = std::vector<std::pair<std::string, std::string>>;

/// A folder "model" with net.onnx, whose one initializer [4] is external, beside a folder "outside".
class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(model_ / "sub");
    fs::create_directories(outside_);
    write(model_ / "w.bin", {1, 2, 3, 4, 5, 6});
    write(model_ / "sub" / "w.bin", {7, 8, 9, 10});
    write(outside_ / "secret.bin", {13, 13, 13, 13});
  }

  static void write(const fs::path& path, const std::vector<float>& values) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }

  Graph load(const Keys& keys, const Shape& shape = {4}) {
    ModelBuilder model;
    model.constant(external_tensor("w", shape, keys)).node("Relu", {"w"}, {"y"}).output("y");
    const std::string bytes = model.bytes();
    std::ofstream(model_ / "net.onnx", std::ios::binary) << bytes;
    return import_file((model_ / "net.onnx").string());
  }

  std::vector<float> values(const Keys& keys) {
    const Graph graph = load(keys);
    const Tensor result = std::move(reference::evaluate(graph, std::span<const TensorView>{}).front());
    return {result.values<float>().begin(), result.values<float>().end()};
  }

  void refuse(const Keys& keys, ErrorCode code = ErrorCode::invalid_model, const Shape& shape = {4}) {
    try {
      load(keys, shape);
      FAIL() << "loaded " << keys.front().second;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("'w'"), std::string::npos) << error.what();
    }
  }

  TemporaryFolder folder_;
  fs::path model_ = folder_.path() / "model", outside_ = folder_.path() / "outside";
};

TEST_F(ExternalDataTest, ReadsWholeFilesRangesAndSubfolders) {
  EXPECT_EQ(values({{"location", "w.bin"}}), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values({{"location", "w.bin"}, {"offset", "8"}, {"length", "16"}}), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(values({{"location", "sub/w.bin"}}), (std::vector<float>{7, 8, 9, 10}));
  EXPECT_EQ(values({{"location", "./sub//w.bin"}, {"checksum", "abc"}}), (std::vector<float>{7, 8, 9, 10}));
}

TEST_F(ExternalDataTest, FindsTheFolderOfARelativePath) {
  load({{"location", "w.bin"}});
  const fs::path before = fs::current_path();
  fs::current_path(model_);
  EXPECT_NO_THROW(import_file("net.onnx"));
  fs::current_path(before);
}

TEST_F(ExternalDataTest, ReadsMoreFilesThanItKeepsOpen) {
  constexpr int kFiles = 300;
  constexpr std::int64_t kCount = 5000;
  ModelBuilder model;
  Names names;
  for (int i = 0; i < kFiles; ++i) {
    names.push_back(fmt::format("w{}", i));
    write(model_ / names.back(), std::vector<float>(static_cast<std::size_t>(kCount), 1));
    model.constant(external_tensor(names.back(), {kCount}, {{"location", names.back()}}));
  }
  model.node("Sum", names, {"y"}).output("y");
  std::ofstream(model_ / "net.onnx", std::ios::binary) << model.bytes();
  const Graph graph = import_file((model_ / "net.onnx").string());
  const auto open = std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  EXPECT_LT(open, 150);
  EXPECT_EQ(reference::evaluate(graph, std::span<const TensorView>{}).front().values<float>()[4999],
            static_cast<float>(kFiles));
}

TEST_F(ExternalDataTest, RefusesPathsThatLeaveTheFolder) {
  refuse({{"location", "../outside/secret.bin"}});
  refuse({{"location", "sub/../../outside/secret.bin"}});
  refuse({{"location", "sub/../w.bin"}});
  refuse({{"location", (outside_ / "secret.bin").string()}});
  refuse({{"location", "/etc/hostname"}});
  refuse({{"location", "..\\outside\\secret.bin"}});
  refuse({{"location", "C:w.bin"}});
  refuse({{"location", std::string("w.bin\0.txt", 10)}});
  refuse({{"location", std::string(5000, 'a')}});
  refuse({{"location", ""}});
  refuse({{"location", "."}});
  refuse({{"location", "sub/"}});
  refuse({{"location", "w.bin/w.bin"}});
  refuse({{"offset", "0"}});
}

TEST_F(ExternalDataTest, RefusesLinks) {
  fs::create_symlink(outside_ / "secret.bin", model_ / "link.bin");
  fs::create_symlink("w.bin", model_ / "inner.bin");
  fs::create_directory_symlink(outside_, model_ / "linked");
  fs::create_directory_symlink("sub", model_ / "linked_sub");
  fs::create_hard_link(outside_ / "secret.bin", model_ / "hard.bin");
  for (const char* location : {"link.bin", "inner.bin", "linked/secret.bin", "linked_sub/w.bin", "hard.bin"}) {
    refuse({{"location", location}});
  }
}

TEST_F(ExternalDataTest, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((model_ / "pipe").c_str(), 0600), 0);
  refuse({{"location", "pipe"}});
  refuse({{"location", "sub"}});
  refuse({{"location", "absent.bin"}}, ErrorCode::io);
  refuse({{"location", "*/_ORT_MEM_ADDR_/*"}}, ErrorCode::io);
}

TEST_F(ExternalDataTest, RefusesRangesOutsideTheFile) {
  refuse({{"location", "w.bin"}, {"offset", "9"}, {"length", "16"}});
  refuse({{"location", "w.bin"}, {"offset", "24"}});
  refuse({{"location", "w.bin"}, {"offset", "25"}, {"length", "16"}});
  refuse({{"location", "w.bin"}, {"offset", "-1"}});
  refuse({{"location", "w.bin"}, {"offset", "9223372036854775807"}});
  refuse({{"location", "w.bin"}, {"offset", "9223372036854775808"}});
  refuse({{"location", "w.bin"}, {"offset", "0x8"}});
  refuse({{"location", "w.bin"}, {"offset", " 8"}});
  refuse({{"location", "w.bin"}, {"length", "12"}});
  refuse({{"location", "w.bin"}, {"length", "-16"}});
  refuse({{"location", "w.bin"}, {"length", "18446744073709551600"}});
  refuse({{"location", "w.bin"}}, ErrorCode::invalid_model, {std::int64_t{1} << 40});
  refuse({{"location", "w.bin"}}, ErrorCode::invalid_model, {std::int64_t{1} << 62});
}

TEST_F(ExternalDataTest, RefusesUnknownAndDoubledKeys) {
  refuse({{"location", "w.bin"}, {"mode", "w"}});
  refuse({{"location", "w.bin"}, {"location", "sub/w.bin"}});
}

TEST_F(ExternalDataTest, RefusesInlineDataBesides) {
  ModelBuilder model;
  onnx::TensorProto tensor = external_tensor("w", {1}, {{"location", "w.bin"}});
  tensor.add_float_data(1);
  model.constant(tensor).node("Relu", {"w"}, {"y"}).output("y");
  std::ofstream(model_ / "net.onnx", std::ios::binary) << model.bytes();
  EXPECT_THROW(import_file((model_ / "net.onnx").string()), Error);
}

TEST_F(ExternalDataTest, AModelFileMustBeARegularFile) {
  const auto code_of = [](const fs::path& path) {
    try {
      import_file(path.string());
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  ASSERT_EQ(::mkfifo((model_ / "pipe.onnx").c_str(), 0600), 0);
  std::ofstream(model_ / "empty.onnx").close();
  EXPECT_EQ(code_of(model_ / "absent.onnx"), ErrorCode::io);
  EXPECT_EQ(code_of(model_), ErrorCode::io);
  EXPECT_EQ(code_of(model_ / "pipe.onnx"), ErrorCode::io);
  EXPECT_EQ(code_of(model_ / "empty.onnx"), ErrorCode::invalid_model);
  std::ofstream(model_ / "large.onnx").close();
  fs::resize_file(model_ / "large.onnx", std::uintmax_t{1} << 31);
  EXPECT_EQ(code_of(model_ / "large.onnx"), ErrorCode::invalid_model);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
