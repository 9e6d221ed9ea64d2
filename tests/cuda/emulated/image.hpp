// What stands for a cubin: a text that names the objects of kernels, as bytes that may be stored and read again.
#pragma once
#include <string>
#include <vector>

namespace rill::emulated {

/// The architecture of the devices: compute capability 9.0.
inline constexpr int architecture = 90;

std::string write_image(int architecture_of_text, std::vector<std::string> const& objects);
/// Returns the paths of the objects. Throws failure{invalid_image} or failure{no_binary_for_gpu}.
std::vector<std::string> read_image(char const* image);

/// Returns a hash of a text.
std::string hash_of(std::string const& text);

}  // namespace rill::emulated
