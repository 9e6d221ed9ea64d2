// The texts of the folder text/, which kernels are compiled with.
#pragma once
#include <string>

namespace rill::emulated::embedded {

extern std::string const prelude, interface, global;

}  // namespace rill::emulated::embedded
