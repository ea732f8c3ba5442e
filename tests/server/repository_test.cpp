// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/repository.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "server/failures.hpp"
#include "support/folder.hpp"

namespace colonnade::serve {
namespace {

namespace fs = std::filesystem;

/// A repository in a folder that lives as long as this.
class Folder {
 public:
  fs::path add(const std::string& relative, const std::string& content = "model") const {
    const fs::path file = folder_.path() / relative;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }
  fs::path path() const { return folder_.path(); }
  std::vector<FoundModel> scan(const std::string& relative = "") const {
    return scan_repositories({(folder_.path() / relative).string()});
  }

 private:
  test::TemporaryFolder folder_;
};

std::string problem_of(const FoundModel& model) { return model.problem ? model.problem->message : ""; }

TEST(Repository, ABareFileIsAModel) {
  const Folder folder;
  const fs::path file = folder.add("net.onnx");
  const auto models = folder.scan("net.onnx");
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].name, "net");
  EXPECT_EQ(models[0].versions.at(1), file);
  EXPECT_TRUE(models[0].folder.empty());
  EXPECT_EQ(problem_of(models[0]), "");
}

TEST(Repository, ASingleModelMayBeGivenAName) {
  const Folder folder;
  folder.add("model.onnx");
  folder.add("first/1/model.onnx");
  folder.add("a=b.onnx");
  const std::string root = folder.path().string();
  const std::vector<std::string> paths = {"net=" + root + "/model.onnx", "other=" + root + "/first"};
  const auto models = scan_repositories(paths);
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "net");
  EXPECT_EQ(models[1].name, "other");
  EXPECT_EQ(models[1].versions.at(1), folder.path() / "first/1/model.onnx");
  EXPECT_TRUE(find_model(paths, "other"));
  EXPECT_FALSE(find_model(paths, "model"));
  EXPECT_EQ(scan_repositories({root + "/a=b.onnx"})[0].name, "a=b");  // a path, and no name that may be called
  expect_contains(failure_of([&] { (void)scan_repositories({"net=" + root}); }), "expected a single model, found 3");
  folder.add("folder/whatever.onnx");
  EXPECT_EQ(scan_repositories({"net=" + root + "/folder"})[0].name, "net");
  expect_contains(failure_of([&] { (void)scan_repositories({"net=" + root + "/none.onnx"}); }), "none.onnx");
}

TEST(Repository, AFolderOfFilesAndATritonRepository) {
  const Folder folder;
  folder.add("b.onnx");
  folder.add("notes.txt");
  folder.add(".hidden.onnx");
  folder.add("pictures/cat.png");
  folder.add("a/config.pbtxt", "version_policy { all { } }");
  folder.add("a/1/model.onnx");
  folder.add("a/12/model.onnx");
  folder.add("a/tmp/model.onnx");
  folder.add("a/03/model.onnx");
  folder.add("c/2/model.onnx");
  const auto models = folder.scan();
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0].name, "a");
  EXPECT_EQ(models[1].name, "b");
  EXPECT_EQ(models[2].name, "c");
  EXPECT_TRUE(models[0].config.version_policy().has_all());
  ASSERT_EQ(models[0].versions.size(), 2u);
  EXPECT_EQ(models[0].versions.at(12), folder.path() / "a/12/model.onnx");
  EXPECT_EQ(models[2].versions.begin()->first, 2);
  for (const FoundModel& model : models) EXPECT_EQ(problem_of(model), "") << model.name;
}

TEST(Repository, AFolderWithoutVersionsIsAProblemAndNotForgotten) {
  const Folder folder;
  folder.add("flat/model.onnx");
  folder.add("named/v1/model.onnx");
  folder.add("good/1/model.onnx");
  folder.add("lost+found/readme.txt");
  const auto models = folder.scan();
  ASSERT_EQ(models.size(), 3u);
  expect_contains(problem_of(models[0]), "expected folders of versions that hold the model, as 1/model.onnx");
  EXPECT_EQ(problem_of(models[1]), "");
  expect_contains(problem_of(models[2]), "as 1/model.onnx; found none");
  EXPECT_TRUE(find_model({folder.path().string()}, "flat"));
  folder.add("bare.onnx");  // beside it a folder may hold anything
  EXPECT_EQ(folder.scan().size(), 2u);
}

TEST(Repository, AModelMayBeAFolderWithItsData) {
  const Folder folder;
  folder.add("m/1/model.onnx/model.onnx");
  folder.add("m/1/model.onnx/weights.bin");
  const auto models = folder.scan();
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].versions.at(1), folder.path() / "m/1/model.onnx/model.onnx");
}

TEST(Repository, TheFolderOfOneModelIsUnderstood) {
  const Folder folder;
  folder.add("m/1/model.onnx");
  const auto models = folder.scan("m");
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].name, "m");
  EXPECT_EQ(problem_of(models[0]), "");
}

TEST(Repository, TheConfigurationNamesTheFile) {
  const Folder folder;
  folder.add("m/config.pbtxt", "default_model_filename: 'net.onnx'");
  folder.add("m/1/net.onnx");
  folder.add("m/2/model.onnx");
  const auto models = folder.scan();
  ASSERT_EQ(models.size(), 1u);
  ASSERT_EQ(models[0].versions.size(), 1u);
  EXPECT_EQ(models[0].versions.at(1).filename(), "net.onnx");
}

TEST(Repository, ABrokenModelHarmsNoOther) {
  const Folder folder;
  folder.add("broken/config.pbtxt", "max_batch_size: oops");
  folder.add("broken/1/model.onnx");
  folder.add("empty/1/readme.txt");
  folder.add("gpu/config.pbtxt", "instance_group { kind: KIND_GPU }");
  folder.add("gpu/1/model.onnx");
  folder.add("good/1/model.onnx");
  folder.add("odd name/1/model.onnx");
  folder.add("twice.onnx");
  folder.add("twice/1/model.onnx");
  const auto models = folder.scan();
  ASSERT_EQ(models.size(), 6u);
  expect_contains(problem_of(models[0]), "config.pbtxt, line 1");
  expect_contains(problem_of(models[1]), "no version has a file model.onnx");
  EXPECT_EQ(problem_of(models[2]), "");
  expect_contains(problem_of(models[3]), "KIND_GPU is not supported");
  expect_contains(problem_of(models[4]), "expected a name of letters");
  expect_contains(problem_of(models[5]), "model 'twice' exists twice");
  for (const FoundModel& model : models)
    EXPECT_EQ(problem_of(model).find(folder.path().string()), std::string::npos) << "a path of the host";
}

TEST(Repository, LinksOutOfItAreRefused) {
  const Folder outside, folder;
  outside.add("secret/1/model.onnx");
  outside.add("config.pbtxt", "name: 'm'");
  outside.add("loose.onnx");
  fs::create_directory_symlink(outside.path() / "secret", folder.path() / "a");
  fs::create_directories(folder.path() / "b");
  fs::create_directory_symlink(outside.path() / "secret/1", folder.path() / "b/1");
  fs::create_directories(folder.path() / "c/1");
  fs::create_symlink(outside.path() / "loose.onnx", folder.path() / "c/1/model.onnx");
  folder.add("d/1/model.onnx");
  fs::create_symlink(outside.path() / "config.pbtxt", folder.path() / "d/config.pbtxt");
  fs::create_symlink(outside.path() / "loose.onnx", folder.path() / "e.onnx");
  const auto models = folder.scan();
  ASSERT_EQ(models.size(), 5u);
  for (const FoundModel& model : models) expect_contains(problem_of(model), "is a link to a place outside");
}

/// As Kubernetes mounts a ConfigMap.
TEST(Repository, LinksWithinItAreFollowed) {
  const Folder folder;
  folder.add("..data/model.onnx");
  fs::create_directories(folder.path() / "m/1");
  fs::create_symlink("../../..data/model.onnx", folder.path() / "m/1/model.onnx");
  const auto models = folder.scan();
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(problem_of(models[0]), "");
  EXPECT_EQ(models[0].versions.at(1), folder.path() / "..data/model.onnx");
}

TEST(Repository, AFileThatIsNoneDoesNotBlock) {
  const Folder folder;
  folder.add("m/1/model.onnx");
  ASSERT_EQ(mkfifo((folder.path() / "m/config.pbtxt").c_str(), 0600), 0);
  const auto models = folder.scan();
  ASSERT_EQ(models.size(), 1u);
  expect_contains(problem_of(models[0]), "config.pbtxt is no regular file");
}

TEST(Repository, StampsTellChanges) {
  const Folder folder;
  folder.add("m/config.pbtxt", "max_batch_size: 1");
  folder.add("m/1/model.onnx/model.onnx");
  folder.add("m/1/model.onnx/weights.bin", "12");
  folder.add("m/2/model.onnx");
  const auto before = folder.scan()[0];
  EXPECT_EQ(folder.scan()[0].stamps, before.stamps);
  folder.add("m/1/model.onnx/weights.bin", "123");
  const auto after = folder.scan()[0];
  EXPECT_NE(after.stamps.at(1), before.stamps.at(1));
  EXPECT_EQ(after.stamps.at(2), before.stamps.at(2));
  EXPECT_EQ(after.config_stamp, before.config_stamp);
  EXPECT_GE(after.changed, before.changed);
  fs::last_write_time(folder.path() / "m/config.pbtxt", fs::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_NE(folder.scan()[0].config_stamp, before.config_stamp);
}

TEST(Repository, FindsOneModel) {
  const Folder first, second;
  first.add("a/1/model.onnx");
  second.add("b.onnx");
  second.add("broken/config.pbtxt", "?");
  const std::vector<std::string> paths = {first.path().string(), second.path().string()};
  ASSERT_TRUE(find_model(paths, "b"));
  EXPECT_EQ(find_model(paths, "b")->name, "b");
  ASSERT_TRUE(find_model(paths, "broken"));
  EXPECT_NE(problem_of(*find_model(paths, "broken")), "");
  for (const char* name : {"", "c", "..", "../a", "a/1", "/etc", "a/../a"})
    EXPECT_FALSE(find_model(paths, name)) << name;
}

TEST(Repository, OneThatIsNotThereIsAnError) {
  const Folder folder;
  expect_contains(failure_of([&] { (void)folder.scan("none"); }), "none");
  EXPECT_TRUE(folder.scan().empty());
}

TEST(Repository, ReadsFilesOfAModelOnly) {
  const Folder outside, folder;
  outside.add("secret.txt", "secret");
  folder.add("m/1/model.onnx");
  folder.add("m/labels.txt", "cat\ndog\n");
  folder.add("n/1/model.onnx");
  fs::create_symlink(outside.path() / "secret.txt", folder.path() / "m/link.txt");
  const FoundModel model = folder.scan()[0];
  EXPECT_EQ(read_model_file(model, "labels.txt", 100), "cat\ndog\n");
  EXPECT_NE(failure_of([&] { (void)read_model_file(model, "labels.txt", 3); }), "");
  EXPECT_NE(failure_of([&] { (void)read_model_file(model, "none.txt", 100); }), "");
  for (const char* name : {"link.txt", "../n/1/model.onnx", "/etc/passwd"})
    expect_contains(failure_of([&] { (void)read_model_file(model, name, 10000); }), "outside");
}

TEST(Repository, LoadParameters) {
  const auto parse = [](const std::string& key, const std::string& value) {
    return parse_load_parameters({{key, value}});
  };
  EXPECT_EQ(parse("config", "{\"max_batch_size\": 3}").config->max_batch_size(), 3);
  EXPECT_EQ(parse("file:7/model.onnx", "bytes").files.at(7), "bytes");
  EXPECT_EQ(parse_load_parameters({{"config", "{\"default_model_filename\": \"n.onnx\"}"}, {"file:1/n.onnx", "b"}})
                .files.size(),
            1u);
  for (const char* key :
       {"file:", "file:1", "file:1/", "file:0/model.onnx", "file:-1/model.onnx", "file:../model.onnx", "file:1/../../x",
        "file:/etc/passwd", "file:1/other.onnx", "file:1/model.onnx/weights", "other", "", "File:1/model.onnx"})
    EXPECT_NE(failure_of([&] { (void)parse(key, "bytes"); }), "") << key;
  EXPECT_NE(failure_of([&] { (void)parse("file:1/model.onnx", ""); }), "");
  EXPECT_NE(failure_of([&] { (void)parse("config", "no json"); }), "");
}

}  // namespace
}  // namespace colonnade::serve
