// NVRTC itself, for tests that compile the texts of kernels.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/limit.hpp"
#include "rill/base/error.hpp"
#include "rill/cuda/nvrtc.hpp"

namespace rill::test {

/// Whether this program has a sanitizer, which sees nothing of NVRTC.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool has_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool has_sanitizer = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool has_sanitizer = false;
#endif

/// Tests that need NVRTC; they are skipped where it is not installed, and in programs with a sanitizer: it takes
/// minutes to compile all texts.
class on_real_nvrtc : public testing::Test {
 protected:
  std::unique_ptr<cuda::nvrtc> compiler;

  void SetUp() override {
    if (has_sanitizer) GTEST_SKIP() << "NVRTC compiles texts in programs without a sanitizer";
    allow(300);  // it takes a second for each text
    try {
      compiler = std::make_unique<cuda::nvrtc>(std::vector<std::string>{"libnvrtc.so.13", "libnvrtc.so.12"});
    } catch (error const& e) {
      GTEST_SKIP() << e.what();
    }
  }
};

}  // namespace rill::test
