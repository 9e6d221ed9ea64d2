// The last access that was refused, for tests to read.
#pragma once
#include <string>

namespace rill::emulated {

void record_fault(std::string what);
/// Returns the last one, or an empty text. It stays valid.
char const* last_fault();

}  // namespace rill::emulated
