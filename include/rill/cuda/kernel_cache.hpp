// Compiled kernels in files, so that a program that runs again compiles nothing.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/cuda/digest.hpp"
#include "rill/device/step.hpp"
#include "rill/io/file.hpp"

namespace rill::cuda {

/// The code of some texts.
struct kernel_image {
  std::string code;
  digest name;  ///< of the code
};

/// A folder of images. Each text has a file, named by the key of the text; texts that were compiled as one program are
/// links to one file. A file appears whole, so several processes may use a folder. Files that are damaged, or that
/// other users may write to, are not used. Errors are told to a log, once; then nothing is written any more.
class kernel_cache {
 public:
  /// The bounds of a folder: beyond them, files that were not used for the longest time are removed.
  struct bounds {
    std::uint64_t bytes = std::uint64_t{512} << 20;
    std::size_t files = 10'000;
  };

  /// Opens a folder, and creates it if need be, for its owner alone. Empty: no cache. A folder that belongs to another
  /// user, or that others may write to, is not used: they could put kernels into it.
  kernel_cache(std::filesystem::path folder, log_callback log, bounds most);
  kernel_cache(std::filesystem::path folder, log_callback log)
      : kernel_cache(std::move(folder), std::move(log), bounds{}) {}

  /// Returns the image with the code of a text; null: there is none.
  std::shared_ptr<kernel_image const> find(digest const& key);
  /// Stores an image under the keys of its texts.
  void keep(std::span<digest const> keys, std::shared_ptr<kernel_image const> const& image) noexcept;

 private:
  static std::string name_of(digest const& key);
  void open();
  std::shared_ptr<kernel_image const> read(int file, std::uint64_t size, digest const& key);
  void store(std::span<digest const> keys, std::shared_ptr<kernel_image const> const& image);
  void write(std::string const& name, std::span<digest const> keys, kernel_image const& image) const;
  bool link(std::string const& from, std::string const& to) const;
  void publish(std::string const& temporary, std::string const& name) const;
  void trim();
  void tell(std::string_view what) noexcept;

  std::filesystem::path folder_;
  log_callback log_;
  bounds most_;
  files::descriptor open_;  // the folder
  std::mutex mutex_;
  std::map<digest, std::weak_ptr<kernel_image const>> read_;  // those in use are not read again
  std::atomic<bool> told_{false};
  std::uint64_t bytes_to_trim_ = 0, files_to_trim_ = 0;  // that may be written until all files are looked at
};

/// Returns the folder of the environment: RILL_KERNEL_CACHE, even if it is empty, else XDG_CACHE_HOME/rill, else
/// HOME/.cache/rill; empty: there is none.
std::filesystem::path kernel_cache_folder();

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace rill::cuda {

namespace detail {

inline constexpr std::string_view kernel_file_ending = ".kernel", temporary_file_ending = ".tmp";

/// The first bytes of a file. The keys of its texts come next, then the code. The text ends with the format's version.
struct kernel_file_head {
  char format[16] = {'r', 'i', 'l', 'l', ' ', 'k', 'e', 'r', 'n', 'e', 'l', 's', ' ', '0', '1', '\n'};
  std::uint64_t keys = 0, bytes = 0;
  digest code = {};
};
static_assert(sizeof(kernel_file_head) == 64);

/// Whether only this user and the system's administrator may change what is there.
inline bool is_private(struct ::stat const& about) {
  return (about.st_uid == ::geteuid() || about.st_uid == 0) && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Creates a folder, and those around it, for this user alone; one that is there already stays.
inline void make_private_folder(std::filesystem::path const& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  if (errno != ENOENT || !folder.has_relative_path()) files::fail("create the directory", folder);
  make_private_folder(folder.parent_path());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) files::fail("create the directory", folder);
}

/// Reads exactly `bytes`; false: the file ends before, or can't be read.
inline bool read_at(int file, std::uint64_t offset, void* to, std::size_t bytes) {
  for (auto* p = static_cast<char*>(to); bytes > 0;) {
    auto const n = files::uninterrupted([&] { return ::pread(file, p, bytes, static_cast<::off_t>(offset)); });
    if (n <= 0) return false;
    p += n, offset += static_cast<std::uint64_t>(n), bytes -= static_cast<std::size_t>(n);
  }
  return true;
}
inline bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const n = files::uninterrupted([&] { return ::write(file, bytes.data(), bytes.size()); });
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// A name that no other file of the folder has. The file is removed at the end of the scope, if it is still there.
struct temporary_file {
  int const folder;
  std::string const name;

  explicit temporary_file(int in) : folder(in), name(fresh()) {}
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  ~temporary_file() { ::unlinkat(folder, name.c_str(), 0); }

 private:
  // Processes of other machines may have the same number, and write to the same folder.
  static std::string fresh() {
    static std::atomic<unsigned> number{0};
    auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
    return std::to_string(::getpid()) + "-" + std::to_string(now) + "-" + std::to_string(number++) +
           std::string(temporary_file_ending);
  }
};

}  // namespace detail

RILL_CUDA_INLINE kernel_cache::kernel_cache(std::filesystem::path folder, log_callback log, bounds most)
    : folder_(std::move(folder)), log_(std::move(log)), most_(most) {
  if (folder_.empty()) return;
  try {
    open();
  } catch (...) {
    tell(caught_failure()->message());
  }
}

RILL_CUDA_INLINE void kernel_cache::open() {
  folder_ = std::filesystem::absolute(folder_);
  detail::make_private_folder(folder_);
  files::descriptor opened(
      files::uninterrupted([&] { return ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  struct ::stat about{};
  if (opened.get() < 0 || ::fstat(opened.get(), &about) != 0) files::fail("open the directory", folder_);
  if (!detail::is_private(about))
    throw error(code::permission_denied,
                "'" + folder_.string() +
                    "' belongs to another user, or others may write to it, and a kernel that they put there would be "
                    "run: take the right from them (chmod go-w), or set gpu_options::cache to another folder");
  open_ = std::move(opened);
}

RILL_CUDA_INLINE std::string kernel_cache::name_of(digest const& key) {
  return hexadecimal(key) + std::string(detail::kernel_file_ending);
}

RILL_CUDA_INLINE std::shared_ptr<kernel_image const> kernel_cache::find(digest const& key) try {
  if (open_.get() < 0) return nullptr;
  auto const name = name_of(key);
  files::descriptor const file(files::uninterrupted(
      [&] { return ::openat(open_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
  struct ::stat about{};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || !detail::is_private(about))
    return nullptr;
  auto found = read(file.get(), static_cast<std::uint64_t>(about.st_size), key);
  constexpr ::time_t hour = 3600;  // the time of use need not be exact
  if (found && ::time(nullptr) - about.st_mtim.tv_sec > hour) ::futimens(file.get(), nullptr);
  return found;
} catch (...) {  // no memory for it
  return nullptr;
}

RILL_CUDA_INLINE std::shared_ptr<kernel_image const> kernel_cache::read(int file, std::uint64_t size,
                                                                        digest const& key) {
  detail::kernel_file_head head;
  constexpr auto begin = sizeof head;
  if (size < begin || !detail::read_at(file, 0, &head, begin)) return nullptr;
  if (std::memcmp(head.format, detail::kernel_file_head().format, sizeof head.format) != 0) return nullptr;
  if (head.keys > (size - begin) / sizeof key || head.bytes != size - begin - head.keys * sizeof key) return nullptr;
  std::vector<digest> keys(static_cast<std::size_t>(head.keys));
  if (!detail::read_at(file, begin, keys.data(), keys.size() * sizeof key)) return nullptr;
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) return nullptr;
  std::lock_guard const lock(mutex_);
  auto& known = read_[head.code];
  if (auto found = known.lock()) return found;
  auto image = std::make_shared<kernel_image>();
  image->code.resize(static_cast<std::size_t>(head.bytes));
  image->name = head.code;
  if (!detail::read_at(file, size - head.bytes, image->code.data(), image->code.size())) return nullptr;
  if (digest_of(image->code) != head.code) return nullptr;
  known = image;
  return image;
}

RILL_CUDA_INLINE void kernel_cache::keep(std::span<digest const> keys,
                                         std::shared_ptr<kernel_image const> const& image) noexcept {
  if (open_.get() < 0 || told_ || keys.empty()) return;
  try {
    store(keys, image);
  } catch (...) {
    tell(caught_failure()->message());
  }
}

RILL_CUDA_INLINE void kernel_cache::store(std::span<digest const> keys,
                                          std::shared_ptr<kernel_image const> const& image) {
  std::lock_guard const lock(mutex_);
  std::erase_if(read_, [](auto const& each) { return each.second.expired(); });
  read_[image->name] = image;
  auto const first = name_of(keys[0]);
  write(first, keys, *image);
  for (auto const& key : keys.subspan(1))
    if (auto const name = name_of(key); !link(first, name)) write(name, keys, *image);
  files_to_trim_ -= std::min<std::uint64_t>(files_to_trim_, keys.size());
  bytes_to_trim_ -= std::min<std::uint64_t>(bytes_to_trim_, image->code.size());
  if (files_to_trim_ == 0 || bytes_to_trim_ == 0) trim();
}

RILL_CUDA_INLINE void kernel_cache::write(std::string const& name, std::span<digest const> keys,
                                          kernel_image const& image) const {
  detail::kernel_file_head head;
  head.keys = keys.size(), head.bytes = image.code.size(), head.code = image.name;
  std::string bytes(reinterpret_cast<char const*>(&head), sizeof head);
  for (auto const& each : keys) bytes += bytes_of(each);
  detail::temporary_file const temporary(open_.get());
  files::descriptor file(files::uninterrupted(
      [&] { return ::openat(open_.get(), temporary.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); }));
  if (file.get() < 0) files::fail("create", folder_ / temporary.name);
  // It need not be on the disk: what is missing after a loss of power is noticed by the digest.
  bool const written = detail::write_all(file.get(), bytes) && detail::write_all(file.get(), image.code);
  if (!written || (::close(file.release()) != 0 && errno != EINTR)) files::fail("write", folder_ / name);
  publish(temporary.name, name);
}

// Not all file systems have links.
RILL_CUDA_INLINE bool kernel_cache::link(std::string const& from, std::string const& to) const {
  detail::temporary_file const temporary(open_.get());
  if (::linkat(open_.get(), from.c_str(), open_.get(), temporary.name.c_str(), 0) != 0) return false;
  publish(temporary.name, to);
  return true;
}

RILL_CUDA_INLINE void kernel_cache::publish(std::string const& temporary, std::string const& name) const {
  if (::renameat(open_.get(), temporary.c_str(), open_.get(), name.c_str()) != 0) files::fail("write", folder_ / name);
}

RILL_CUDA_INLINE void kernel_cache::trim() {
  struct file {
    ::time_t used;
    double bytes;
    std::string name;
  };
  std::vector<file> all;
  double total = 0;
  auto const remove = [&](std::string const& name) { ::unlinkat(open_.get(), name.c_str(), 0); };
  constexpr ::time_t hour = 3600;
  int failed = 0;
  for (auto& name : files::names_in(folder_, failed)) {
    struct ::stat about{};
    if (::fstatat(open_.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode)) continue;
    bool const left = name.ends_with(detail::temporary_file_ending) && ::time(nullptr) - about.st_mtim.tv_sec > hour;
    if (left) remove(name);  // left by a process that was killed
    if (!name.ends_with(detail::kernel_file_ending)) continue;
    double const share = static_cast<double>(about.st_size) / static_cast<double>(about.st_nlink);
    all.push_back({about.st_mtim.tv_sec, share, std::move(name)});
    total += share;
  }
  std::sort(all.begin(), all.end(), [](file const& a, file const& b) { return a.used > b.used; });
  // Some more than what is too much is removed, so that this happens seldom.
  auto const most = static_cast<double>(most_.bytes);
  if (total > most || all.size() > most_.files)
    for (; !all.empty() && (total > most * 7 / 8 || all.size() > most_.files / 8 * 7); all.pop_back()) {
      remove(all.back().name);
      total -= all.back().bytes;
    }
  files_to_trim_ = most_.files - std::min(most_.files, all.size()) + 1;
  bytes_to_trim_ = static_cast<std::uint64_t>(std::max(most - total, 0.0)) + 1;
}

RILL_CUDA_INLINE void kernel_cache::tell(std::string_view what) noexcept {
  if (told_.exchange(true) || !log_) return;
  try {
    log_("compiled kernels are not kept for later runs: " + std::string(what) + "\n");
  } catch (...) {  // a log that fails stops nothing
  }
}

RILL_CUDA_INLINE std::filesystem::path kernel_cache_folder() {
  if (char const* const own = std::getenv("RILL_KERNEL_CACHE")) return own;
  for (auto const& [variable, folder] : {std::pair{"XDG_CACHE_HOME", "rill"}, std::pair{"HOME", ".cache/rill"}})
    if (char const* const in = std::getenv(variable); in && *in == '/') return std::filesystem::path(in) / folder;
  return {};
}

}  // namespace rill::cuda
#endif
