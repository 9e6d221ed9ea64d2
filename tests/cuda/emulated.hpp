// The GPU of tests: an emulated driver, where it is, and its functions; or the card of this machine.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/limit.hpp"
#include "emulated/control.hpp"
#include "rill/base/error.hpp"

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

/// Whether tests run on the GPU of this machine, and not on an emulated one: RILL_TEST_GPU=1, as tests/gpu/run.sh sets
/// it.
inline bool on_own_gpu() {
  char const* const said = std::getenv("RILL_TEST_GPU");
  return said && std::string_view(said) == "1";
}

/// Returns the error that `f` throws, and fails the test if there is none.
inline error refusal(auto const& f) {
  try {
    f();
  } catch (error const& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was refused";
  return error(code::internal, "");
}

/// Sets the order in which an emulated GPU runs blocks and threads, by a seed. A card has its own order.
inline void set_thread_order(unsigned long long seed) {
  if (!on_own_gpu()) RILL_EMULATED(rill_emulated_set_order)(seed);
}

/// Tests on a GPU: an emulated one, or this machine's own with its driver and its NVRTC. After each test nothing of the
/// emulated driver's is alive.
class on_gpu : public testing::Test {
 protected:
  std::optional<environment_scope> driver_, compiler_, cache_;

  on_gpu() {
    allow(240);  // the host's compiler takes a while for the kernels of a test
    if (on_own_gpu()) return;
    driver_.emplace("RILL_CUDA_DRIVER", emulated_path());
    compiler_.emplace("RILL_NVRTC", emulated_path());
    cache_.emplace("RILL_KERNEL_CACHE", "");
  }
  void SetUp() override { set_thread_order(0); }
  void TearDown() override {
    if (on_own_gpu()) return;
    auto const left = RILL_EMULATED(rill_emulated_count)();
    EXPECT_EQ(left.contexts + left.allocations + left.pools + left.streams + left.events + left.modules +
                  left.programs + left.page_locked,
              0u)
        << left.contexts << " contexts, " << left.allocations << " allocations, " << left.pools << " pools, "
        << left.streams << " streams, " << left.events << " events, " << left.modules << " modules, " << left.programs
        << " programs, " << left.page_locked << " allocations of page-locked memory";
  }
};

/// Tests of a fixture that make the driver lie, or count what it did. They are skipped on this machine's own GPU; their
/// fixture is made nevertheless.
template <class Fixture> class only_emulated : public Fixture {
 protected:
  only_emulated() { skip_on_own_gpu(); }

 private:
  static void skip_on_own_gpu() {
    if (on_own_gpu()) GTEST_SKIP() << "this test is for the emulated driver, which lies and counts as it is told";
  }
};
using on_emulated_gpu = only_emulated<on_gpu>;

}  // namespace rill::test
