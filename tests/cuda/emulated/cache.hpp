// Files that processes make once for all: each is written under a name of its own and renamed when it is complete.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

namespace rill::emulated {

/// The folder of RILL_EMULATED_CACHE, or the one that the build chose.
std::filesystem::path cache_folder();

/// Returns the path of what has this name in the cache. If it is not there, `make` fills a new folder or writes a new
/// file at the path that it is given, and returns whether it did. Returns an empty path if it did not.
std::filesystem::path made_once(std::string const& name, std::function<bool(std::filesystem::path const&)> const& make);

/// A name of no other file in the cache.
std::filesystem::path temporary_path();

std::string read_file(std::filesystem::path const& path);
void write_file(std::filesystem::path const& path, std::string const& text);

}  // namespace rill::emulated
