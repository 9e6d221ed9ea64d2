// A plugin of somebody's that uses rill.
#include <cstdio>
#include <rill/compiled.hpp>
#include <rill/ops/operations.hpp>

extern "C" [[gnu::visibility("default")]] int use_rill() {
  std::printf("%s, with kernels for %s\n", std::string(rill::definition<rill::ops::add_op>().name).c_str(),
              std::string(rill::instruction_set()).c_str());
  try {
    rill::use_instruction_set("no such thing");
  } catch (rill::error const&) {
    return 0;
  }
  return 1;
}
