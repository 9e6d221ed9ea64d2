// What somebody else's program might do with rill, if it is short.
#include <cstdio>
#include <rill/compiled.hpp>
#include <rill/tensor/tensor.hpp>
#include <rill/version.hpp>

int main() {
  auto const t = rill::matrix<float>({{1, 2}, {3, 4}});
  std::printf("rill %d.%d.%d, kernels for %s\n", rill::version.major, rill::version.minor, rill::version.patch,
              std::string(rill::instruction_set()).c_str());
  return t.at<float>(1, 0) == 3 ? 0 : 1;
}
