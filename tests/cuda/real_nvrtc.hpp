// NVRTC itself, for tests that compile the texts of kernels.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/cuda/nvrtc.hpp"

namespace rill::test {

/// Tests that need NVRTC; they are skipped where it is not installed.
class on_real_nvrtc : public testing::Test {
 protected:
  std::unique_ptr<cuda::nvrtc> compiler;

  void SetUp() override {
    try {
      compiler = std::make_unique<cuda::nvrtc>(std::vector<std::string>{"libnvrtc.so.13", "libnvrtc.so.12"});
    } catch (error const& e) {
      GTEST_SKIP() << e.what();
    }
  }
};

}  // namespace rill::test
