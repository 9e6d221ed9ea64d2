// The main of all test programs. RILL_TEST_KERNELS names the kernels to test, where it is not this machine's
// best. Without the library the kernels for all element types are asked for.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <rill/compiled.hpp>

#include "base/limit.hpp"

#if !RILL_COMPILED
#include <rill/ops/list/use_elements.hpp>
#endif

int main(int argc, char** argv) {
#if !RILL_COMPILED
  rill::use_elements();
#endif
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new rill::test::limit);
  if (char const* name = std::getenv("RILL_TEST_KERNELS")) try {
      rill::use_instruction_set(name);
    } catch (rill::error const& e) {
      std::printf("%s\n", e.what());
      return e.code() == rill::code::unimplemented ? 77 : 1;  // 77: skipped
    }
  return RUN_ALL_TESTS();
}
