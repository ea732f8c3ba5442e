// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "topology/topology.hpp"

namespace colonnade {
namespace {

/// A folder that stands for /sys/fs/cgroup.
class CgroupQuota : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(testing::TempDir()) / ("cgroup-" + std::to_string(getpid()) + info->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    const auto path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  double quota(const std::string& self) const { return cgroup_cpu_quota(root_.string(), self); }

 private:
  std::filesystem::path root_;
};

TEST_F(CgroupQuota, NoFilesMeanNoLimit) {
  EXPECT_EQ(quota("0::/\n"), 0);
  EXPECT_EQ(quota("0::/a/b/c\n"), 0);
  EXPECT_EQ(quota("4:cpu,cpuacct:/x\n"), 0);
  EXPECT_EQ(cgroup_cpu_quota("/no/such/folder", "0::/a\n1:cpu:/b\n"), 0);
  EXPECT_EQ(quota(""), 0);
}

TEST_F(CgroupQuota, Version2Limit) {
  write("job/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/job\n"), 1.5);
  EXPECT_DOUBLE_EQ(quota("0::/job"), 1.5);
  EXPECT_EQ(quota("0::/other\n"), 0);
}

TEST_F(CgroupQuota, Version2MaxMeansNoLimit) {
  write("job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/job\n"), 0);
}

TEST_F(CgroupQuota, Version2DefaultPeriod) {
  write("cpu.max", "50000\n");
  EXPECT_DOUBLE_EQ(quota("0::/\n"), 0.5);
}

TEST_F(CgroupQuota, SmallestLimitUpTheHierarchyHolds) {
  write("a/cpu.max", "200000 100000\n");
  write("a/b/cpu.max", "max 100000\n");
  write("a/b/c/cpu.max", "800000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/a/b/c\n"), 2);
  EXPECT_DOUBLE_EQ(quota("0::/a/b\n"), 2);
  write("a/b/cpu.max", "100000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/a/b/c\n"), 1);
  EXPECT_DOUBLE_EQ(quota("0::/a\n"), 2);
}

TEST_F(CgroupQuota, MountRootCountsWhenThePathIsTheHosts) {
  write("cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/docker/0123abc\n"), 3);
  EXPECT_DOUBLE_EQ(quota("0::/../other\n"), 3);
}

TEST_F(CgroupQuota, PathsDoNotLeaveTheTree) {
  write("inner/cpu.max", "max\n");
  write("cpu.max", "max\n");
  std::ofstream(std::filesystem::path(testing::TempDir()) / "cpu.max") << "100000 100000\n";
  EXPECT_EQ(quota("0::/inner/../..\n"), 0);
  std::filesystem::remove(std::filesystem::path(testing::TempDir()) / "cpu.max");
}

TEST_F(CgroupQuota, Version1Limit) {
  write("cpu/job/cpu.cfs_quota_us", "250000\n");
  write("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota("5:memory:/job\n4:cpu,cpuacct:/job\n0::/\n"), 2.5);
  EXPECT_DOUBLE_EQ(quota("1:cpu:/job/leaf\n"), 2.5);
  EXPECT_EQ(quota("3:cpuset:/job\n2:cpuacct:/job\n"), 0);
}

TEST_F(CgroupQuota, Version1JointMount) {
  write("cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
  write("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  write("cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  write("cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota("4:cpu,cpuacct:/a/b\n"), 4);
}

TEST_F(CgroupQuota, Version1MinusOneMeansNoLimit) {
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("1:cpu:/\n"), 0);
}

TEST_F(CgroupQuota, HybridTakesTheSmaller) {
  write("cpu/job/cpu.cfs_quota_us", "300000\n");
  write("cpu/job/cpu.cfs_period_us", "100000\n");
  write("unified/slice/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(quota("4:cpu:/job\n0::/slice\n"), 2);
  write("cpu/job/cpu.cfs_quota_us", "50000\n");
  EXPECT_DOUBLE_EQ(quota("4:cpu:/job\n0::/slice\n"), 0.5);
}

TEST_F(CgroupQuota, GarbageIsNoLimit) {
  for (const char* text : {"", "\n", "many 100000", "100000 0", "100000 -5", "0 100000", "-3 100000", "1e5 100000",
                           "99999999999999999999999 100000", "100000 x", "100000x 100000", "\x01\xff"}) {
    write("job/cpu.max", text);
    EXPECT_EQ(quota("0::/job\n"), 0) << text;
  }
  write("cpu/job/cpu.cfs_quota_us", "100000");
  EXPECT_EQ(quota("1:cpu:/job\n"), 0) << "no period";
  write("cpu/job/cpu.cfs_period_us", "0");
  EXPECT_EQ(quota("1:cpu:/job\n"), 0) << "period of zero";
}

TEST_F(CgroupQuota, GarbageLinesAreSkipped) {
  write("job/cpu.max", "100000 100000");
  EXPECT_EQ(quota("job\n:\n::\n0:/job\n\n7::/job\n"), 0);
  EXPECT_DOUBLE_EQ(quota("what\n0::/job\n"), 1);
}

}  // namespace
}  // namespace colonnade
