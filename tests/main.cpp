// The main of all test programs. RILL_TEST_KERNELS names the kernels to test, where it is not this machine's best.
// RILL_TEST_DEVICES, RILL_TEST_GPUS, RILL_TEST_TASKS or RILL_TEST_SERVERS is a seed by which the nodes of all sessions
// are spread over devices, a GPU of the emulated driver among them, tasks or servers (spread.hpp,
// net/spread_servers.hpp). RILL_TEST_LOCALE names the locale of the program, C's and C++'s. Without the library the
// kernels for all element types are asked for.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <locale>
#include <rill/compiled.hpp>

#include "base/limit.hpp"

#if !RILL_COMPILED
#include <rill/ops/list/use_elements.hpp>
#endif

#if RILL_COMPILED_NET || RILL_TEST_NET
#include "net/spread_servers.hpp"
#endif
#if RILL_COMPILED
#include <rill/cuda.hpp>
#endif
#include "spread.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// UCX keeps the addresses of some of its blocks in shared memory alone, where the leak checker does not look.
extern "C" char const* __lsan_default_suppressions() { return "leak:libucs.so\n"; }
#endif
#if __has_feature(thread_sanitizer)
// OpenSSL and UCX come without the sanitizer, which does not see how they order what threads do.
extern "C" char const* __tsan_default_suppressions() {
  return "race:libcrypto.so\nrace:libssl.so\nrace:libucs.so\nrace:libucp.so\nrace:libuct.so\n";
}
#endif
#endif

int main(int argc, char** argv) {
  ::setenv("RILL_KERNEL_CACHE", "", 0);  // tests leave no kernels in the user's folder
#if !RILL_COMPILED
  rill::use_elements();
#endif
  if (char const* name = std::getenv("RILL_TEST_LOCALE")) std::locale::global(std::locale(name));
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new rill::test::limit);
  if (char const* name = std::getenv("RILL_TEST_KERNELS")) try {
      rill::use_instruction_set(name);
    } catch (rill::error const& e) {
      std::printf("%s\n", e.what());
      return e.code() == rill::code::unimplemented ? 77 : 1;  // 77: skipped
    }
  if (char const* seed = std::getenv("RILL_TEST_DEVICES"))
    rill::test::spread_over_devices(std::strtoull(seed, nullptr, 10));
#if RILL_COMPILED
  if (char const* seed = std::getenv("RILL_TEST_GPUS")) {
    auto gpu = rill::gpu(0);
    if (auto const why = gpu->absence()) return std::printf("%s\n", why->what()), 1;
    rill::test::spread_over_devices(std::strtoull(seed, nullptr, 10), std::move(gpu));
  }
#endif
  if (char const* seed = std::getenv("RILL_TEST_TASKS"))
    rill::test::spread_over_tasks(std::strtoull(seed, nullptr, 10));
#if RILL_COMPILED_NET || RILL_TEST_NET
  if (char const* seed = std::getenv("RILL_TEST_SERVERS"))
    rill::test::spread_over_servers(std::strtoull(seed, nullptr, 10));
#endif
  return RUN_ALL_TESTS();
}
