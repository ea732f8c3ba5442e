// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

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

TEST_F(ExternalDataTest, FollowsLinksThatStayInTheFolder) {
  const std::vector<float> first = {1, 2, 3, 4}, second = {7, 8, 9, 10};
  fs::create_symlink("w.bin", model_ / "inner.bin");
  fs::create_symlink("../inner.bin", model_ / "sub" / "back.bin");
  fs::create_symlink("../model/./sub/../w.bin", model_ / "detour.bin");
  fs::create_symlink(model_ / "w.bin", model_ / "absolute.bin");
  fs::create_directory_symlink("sub", model_ / "linked_sub");
  for (const char* location : {"inner.bin", "sub/back.bin", "detour.bin", "absolute.bin"})
    EXPECT_EQ(values({{"location", location}}), first) << location;
  EXPECT_EQ(values({{"location", "linked_sub/w.bin"}}), second);
  EXPECT_EQ(values({{"location", "linked_sub/back.bin"}}), first);
}

TEST_F(ExternalDataTest, RefusesLinksThatLeaveTheFolder) {
  fs::create_symlink(outside_ / "secret.bin", model_ / "link.bin");
  fs::create_symlink("../outside/secret.bin", model_ / "relative.bin");
  fs::create_symlink("../../../../../../../../etc/passwd", model_ / "passwd");
  fs::create_symlink("/etc/passwd", model_ / "absolute");
  fs::create_symlink("/dev/zero", model_ / "zero");
  fs::create_symlink("/proc/self/environ", model_ / "process");
  fs::create_directory_symlink(outside_, model_ / "linked");
  fs::create_symlink("relative.bin", model_ / "twice.bin");
  for (const char* location :
       {"link.bin", "relative.bin", "passwd", "absolute", "zero", "process", "linked/secret.bin", "twice.bin"})
    refuse({{"location", location}});
}

TEST_F(ExternalDataTest, RefusesLinksThatLeadNowhere) {
  fs::create_symlink("loop.bin", model_ / "loop.bin");
  fs::create_symlink("pong.bin", model_ / "ping.bin");
  fs::create_symlink("ping.bin", model_ / "pong.bin");
  fs::create_symlink("growing/growing", model_ / "growing");
  fs::create_symlink("absent.bin", model_ / "dangling.bin");
  ASSERT_EQ(::mkfifo((model_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", model_ / "linked_pipe");
  fs::create_symlink("sub", model_ / "linked_sub");
  for (const char* location : {"loop.bin", "ping.bin", "growing", "linked_pipe", "linked_sub", "inner/w.bin"})
    refuse({{"location", location}}, location[0] == 'i' ? ErrorCode::io : ErrorCode::invalid_model);
  refuse({{"location", "dangling.bin"}}, ErrorCode::io);
}

/// Only root gives files away.
bool give_away(const fs::path& path) { return ::geteuid() == 0 && ::chown(path.c_str(), 65534, 65534) == 0; }

TEST_F(ExternalDataTest, HardLinksMustHaveTheFoldersOwner) {
  fs::create_hard_link(outside_ / "secret.bin", model_ / "hard.bin");
  EXPECT_EQ(values({{"location", "hard.bin"}}), (std::vector<float>{13, 13, 13, 13}));
  if (!give_away(model_ / "hard.bin") || !give_away(model_ / "w.bin")) return;
  refuse({{"location", "hard.bin"}});
  EXPECT_EQ(values({{"location", "w.bin"}}), (std::vector<float>{1, 2, 3, 4}));
}

/// As huggingface_hub keeps models: links to blobs that are named after their contents.
class ModelCacheTest : public ExternalDataTest {
 protected:
  void SetUp() override {
    ExternalDataTest::SetUp();
    fs::create_directories(blobs_);
    fs::create_directories(snapshot_ / "onnx");
    ModelBuilder model;
    model.constant(external_tensor("w", {4}, {{"location", "model.onnx_data"}}));
    model.node("Relu", {"w"}, {"y"}).output("y");
    std::ofstream(blobs_ / "4f2a", std::ios::binary) << model.bytes();
    write(blobs_ / "9c1b", {5, 6, 7, 8});
    fs::create_symlink("../../blobs/4f2a", snapshot_ / "model.onnx");
    link_data("../../blobs/9c1b");
  }

  void link_data(const std::string& target) {
    fs::remove(snapshot_ / "model.onnx_data");
    fs::create_symlink(target, snapshot_ / "model.onnx_data");
  }

  std::vector<float> values() {
    const Graph graph = import_file((snapshot_ / "model.onnx").string());
    const Tensor result = std::move(reference::evaluate(graph, std::span<const TensorView>{}).front());
    return {result.values<float>().begin(), result.values<float>().end()};
  }

  void refuse(const std::string& part) {
    try {
      values();
      FAIL() << "loaded, expected: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_model);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  fs::path cache_ = folder_.path() / "models--us--net", blobs_ = cache_ / "blobs",
           snapshot_ = cache_ / "snapshots" / "0123abc";
};

TEST_F(ModelCacheTest, DataLieBesideWhereTheModelIsLinkedTo) {
  EXPECT_EQ(values(), (std::vector<float>{5, 6, 7, 8}));
  link_data(blobs_ / "9c1b");
  EXPECT_EQ(values(), (std::vector<float>{5, 6, 7, 8}));
}

TEST_F(ModelCacheTest, OtherFoldersStayClosed) {
  for (const std::string target :
       {"../../../outside/secret.bin", "../../blobs/../refs", "../../../../../../../../etc/passwd", "/etc/passwd"}) {
    write(cache_ / "refs", {1, 2, 3, 4});
    link_data(target);
    refuse("'model.onnx_data' leads out of the model's folder");
  }
  fs::create_directories(blobs_ / "deeper");
  write(blobs_ / "deeper" / "w", {1, 2, 3, 4});
  link_data("../../blobs/deeper/w");
  refuse("leads out of the model's folder");
}

TEST_F(ModelCacheTest, AModelOfItsOwnFolderOpensNoOther) {
  const std::string bytes = [&] {
    std::ifstream file(blobs_ / "4f2a", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  fs::remove(snapshot_ / "model.onnx");
  std::ofstream(snapshot_ / "model.onnx", std::ios::binary) << bytes;
  refuse("leads out of the model's folder");
}

TEST_F(ModelCacheTest, BlobsMustHaveTheFoldersOwner) {
  if (!give_away(blobs_ / "9c1b")) return;
  refuse("leads to a file of another owner");
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
