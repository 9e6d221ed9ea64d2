#include "cache.hpp"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <system_error>

#include "environment.hpp"

namespace rill::emulated {

namespace fs = std::filesystem;

fs::path cache_folder() { return text_of_environment("RILL_EMULATED_CACHE", RILL_EMULATED_CACHE_FOLDER); }

fs::path temporary_path() {
  static std::atomic<unsigned> last{0};
  auto const folder = cache_folder() / "temporary";
  fs::create_directories(folder);
  return folder / (std::to_string(::getpid()) + "_" + std::to_string(++last));
}

fs::path made_once(std::string const& name, std::function<bool(fs::path const&)> const& make) {
  auto const path = cache_folder() / name;
  if (fs::exists(path)) return path;
  auto const made = temporary_path();
  std::error_code ignored;
  if (!make(made)) {
    fs::remove_all(made, ignored);
    return {};
  }
  std::error_code failed;
  fs::rename(made, path, failed);
  if (failed) {  // another process has made the same folder
    fs::remove_all(made, ignored);
    if (!fs::exists(path)) throw fs::filesystem_error("the cache can't be written", path, failed);
  }
  return path;
}

std::string read_file(fs::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_file(fs::path const& path, std::string const& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file << text << std::flush;
}

}  // namespace rill::emulated
