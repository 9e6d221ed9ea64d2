// The emulated driver for tests of sessions on a GPU: where it is, and its functions.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "emulated/control.hpp"

namespace rill::test {

/// The path of the emulated driver, which also stands for NVRTC.
inline std::string emulated_path() {
  char const* const path = std::getenv("RILL_EMULATED_CUDA");
  return path ? path : "";
}

/// A function of the emulated driver by its name.
template <class F> F* emulated_function(char const* name) {
  static void* const opened = ::dlopen(emulated_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) throw std::runtime_error("the emulated driver can't be opened: " + std::string(::dlerror()));
  void* const found = ::dlsym(opened, name);
  if (!found) throw std::runtime_error("the emulated driver has no " + std::string(name));
  return reinterpret_cast<F*>(found);
}
#define RILL_EMULATED(name) (*rill::test::emulated_function<decltype(name)>(#name))

/// Sets an environment variable while it lives.
class environment_scope {
 public:
  environment_scope(std::string name, std::string const& value) : name_(std::move(name)) {
    if (char const* const now = std::getenv(name_.c_str())) before_ = now, had_ = true;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  environment_scope(environment_scope const&) = delete;
  environment_scope& operator=(environment_scope const&) = delete;
  ~environment_scope() {
    if (had_) ::setenv(name_.c_str(), before_.c_str(), 1);
    else ::unsetenv(name_.c_str());
  }

 private:
  std::string name_, before_;
  bool had_ = false;
};

/// Tests whose GPUs are emulated. After each test nothing of the driver's is alive.
class on_emulated_gpu : public testing::Test {
 protected:
  environment_scope driver_{"RILL_CUDA_DRIVER", emulated_path()}, compiler_{"RILL_NVRTC", emulated_path()},
      cache_{"RILL_KERNEL_CACHE", ""};

  void SetUp() override { RILL_EMULATED(rill_emulated_set_order)(0); }
  void TearDown() override {
    auto const left = RILL_EMULATED(rill_emulated_count)();
    EXPECT_EQ(left.contexts + left.allocations + left.pools + left.streams + left.events + left.modules +
                  left.programs + left.page_locked,
              0u)
        << left.contexts << " contexts, " << left.allocations << " allocations, " << left.pools << " pools, "
        << left.streams << " streams, " << left.events << " events, " << left.modules << " modules, " << left.programs
        << " programs, " << left.page_locked << " allocations of page-locked memory";
  }
};

}  // namespace rill::test
