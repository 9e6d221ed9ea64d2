// Pointers to device memory. Tests without a GPU substitute a type that checks each access.
#pragma once

namespace rill::text {

/// A pointer into the memory of a device: a kernel's parameter.
template <class T> using global = T*;

}  // namespace rill::text
