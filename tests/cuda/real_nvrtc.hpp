// NVRTC itself, for tests that compile the texts of kernels.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limit.hpp"
#include "numbers.hpp"
#include "rill/base/error.hpp"
#include "rill/cuda/kernel_text.hpp"
#include "rill/cuda/nvrtc.hpp"
#include "rill/type/dtype.hpp"

namespace rill::test {

/// Tests that need NVRTC; they are skipped where it is not installed, and in programs with a sanitizer: it takes
/// minutes to compile all texts.
class on_real_nvrtc : public testing::Test {
 protected:
  std::optional<cuda::nvrtc> compiler;

  void SetUp() override {
    if (has_sanitizer) GTEST_SKIP() << "NVRTC compiles texts in programs without a sanitizer";
    allow(300);  // it takes a tenth of a second for each text and kind of GPU
    try {
      compiler.emplace(std::vector<std::string>{"libnvrtc.so.13", "libnvrtc.so.12"});
    } catch (error const& e) {
      GTEST_SKIP() << e.what();
    }
  }
  /// Adds a text to those that `expect_compiled` compiles. `of` says which text of its family it is: element types,
  /// bytes of an element, and other words; empty ones are left out.
  template <class... Part> void add_text(std::string const& text, Part const&... of) {
    std::string all;
    for (auto const& each : std::vector<std::string>{word(of)...})
      all += (all.empty() || each.empty() ? "" : " ") + each;
    texts_.emplace(text, all);
  }
  /// Compiles the added texts, as one program, for compute capabilities 8.0, 9.0 and 10.0. A failure names the text.
  /// Appends what each kernel needs to the file RILL_KERNEL_TABLE, which bench/gpu/resources.py reads, if that variable
  /// is set.
  void expect_compiled() {
    ASSERT_FALSE(texts_.empty());
    std::string program;
    for (auto const& [text, of] : texts_) {
      EXPECT_TRUE(cuda::kernel_text(text).joins()) << of;
      program += cuda::kernel_text(text).part();
    }
    for (int const capability : {80, 90, 100}) try {
        keep(compiler->report(program, capability), capability);
      } catch (error const& e) {
        ADD_FAILURE() << "for sm_" << capability << ", as one program: " << e.what();
        compile_each(capability);
      }
  }

 private:
  static std::string word(dtype element) { return std::string(name(element)); }
  static std::string word(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }
  static std::string word(std::string_view text) { return std::string(text); }

  void compile_each(int capability) const {
    for (auto const& [text, of] : texts_) try {
        compiler->compile(cuda::kernel_text(text).part(), capability);
      } catch (error const& e) {
        ADD_FAILURE() << "for sm_" << capability << ", '" << of << "': " << e.what() << "\n" << text;
      }
  }
  void keep(std::string const& report, int capability) const {
    char const* const path = std::getenv("RILL_KERNEL_TABLE");
    if (!path) return;
    std::ofstream table(path, std::ios::app);
    table << "program\t" << testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() << '\t'
          << capability << '\t' << compiler->version() << '\n';
    for (auto const& [text, of] : texts_)
      table << "text\t" << cuda::kernel_text(text).name_of("") << '\t' << of << '\n';
    table << report << '\n';
  }

  std::map<std::string, std::string> texts_;  // and which text of its family it is
};

}  // namespace rill::test
