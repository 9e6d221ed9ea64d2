// Files: reading up to a bound, and writing whole files or nothing.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "rill/base/c_locale.hpp"
#include "rill/base/error.hpp"

namespace rill {

/// The default bound on the bytes that readers take from one file: 4 GiB.
inline constexpr std::uint64_t max_file_bytes = std::uint64_t{4} << 30;

namespace files {

code code_of(int number);

/// Throws an error such as "cannot write 'model.bin': No space left on device".
[[noreturn]] void fail(char const* what, std::filesystem::path const& path, int number = errno);

/// Returns the names of the files in a directory, unsorted; sets `failed` to the system's error number, or 0.
/// (std::filesystem::directory_iterator terminates the program if memory runs out.)
std::vector<std::string> names_in(std::filesystem::path const& directory, int& failed);

/// An open file descriptor, closed by the destructor.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Repeats a system call as long as signals interrupt it.
template <class F> auto uninterrupted(F f) {
  decltype(f()) result;
  do result = f();
  while (result < 0 && errno == EINTR);
  return result;
}

/// Calls `f` and puts the file's name before the sentence of its error, unless the sentence already contains it.
template <class F> auto naming(std::filesystem::path const& path, F f) {
  try {
    return f();
  } catch (error const& e) {
    if (e.message().find(path.string()) != std::string::npos) throw;
    throw error(e.kind(), "'" + path.string() + "': " + e.message());
  }
}

}  // namespace files

/// A file for reading at any offset. Its size is taken when it is opened.
class input_file {
 public:
  /// Opens a file; throws error(not_found) and the like, with the path and the system's message.
  explicit input_file(std::filesystem::path path);

  std::filesystem::path const& path() const { return path_; }
  /// Returns the size of a regular file in bytes; 0 for pipes and the like.
  std::uint64_t size() const { return size_; }
  bool regular() const { return regular_; }

  /// Reads exactly `bytes` bytes; throws error(data_loss) if the file ends before.
  void read_at(std::uint64_t offset, void* to, std::size_t bytes) const;

  /// Reads at most `bytes` bytes into `to` and returns their number: at least one, or 0 at the end.
  std::size_t read_some(std::uint64_t offset, void* to, std::size_t bytes) const;

  /// Reads to the end; throws error(resource_exhausted) if there are more than `most` bytes.
  std::string read_all(std::uint64_t most) const;

 private:
  [[noreturn]] void refuse(std::uint64_t most) const;

  std::filesystem::path path_;
  files::descriptor file_;
  std::uint64_t size_ = 0;
  bool regular_ = false;
};

/// Returns the bytes of a file, at most `most`.
std::string read_file(std::filesystem::path const& path, std::uint64_t most = max_file_bytes);

/// A file that appears under its name, whole and on the disk, when `commit` returns; until then an existing file of
/// that name stays. The bytes go to a temporary file beside it, `NAME.<process>-<number>.tmp`, which the destructor
/// removes: only a killed process leaves one. The new file takes over the mode, the group and, if the process may
/// change owners, the owner of the file that it replaces. A symbolic link to a file is replaced, not followed; the new
/// file takes over the mode of the file that the link leads to. Throws error(failed_precondition) if the name belongs
/// to a directory, pipe, socket or device, or to a symbolic link to one: these can't be replaced whole or not at all.
class output_file {
 public:
  explicit output_file(std::filesystem::path path);
  output_file(output_file const&) = delete;
  output_file& operator=(output_file const&) = delete;
  ~output_file() {
    if (!committed_) ::unlink(temporary_.c_str());
  }

  void write(std::string_view bytes);

  /// Syncs the bytes to the disk, renames the file atomically, and syncs the directory.
  void commit();

 private:
  void take_over(struct ::stat const& old) const;
  void sync_directory() const;

  std::filesystem::path path_, directory_, temporary_;
  files::descriptor file_;
  bool committed_ = false;
};

/// An exclusive lock of a directory, against this process and others; waits for the present owner. It is released by
/// the destructor or when the process ends, and leaves no file behind. On file systems that can't lock directories it
/// has no effect.
class directory_lock {
 public:
  explicit directory_lock(std::filesystem::path const& directory);

 private:
  files::descriptor held_;
};

/// Writes a file whole or not at all; an existing file stays until the new one is on the disk.
void write_file(std::filesystem::path const& path, std::string_view bytes);

#if RILL_RUNTIME

namespace files {

RILL_INLINE code code_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return code::not_found;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return code::resource_exhausted;
    case EIO:
      return code::data_loss;
    default:
      return code::failed_precondition;
  }
}

RILL_INLINE void fail(char const* what, std::filesystem::path const& path, int number) try {
  throw error(code_of(number), std::string("cannot ") + what + " '" + path.string() +
                                   "': " + system_message({number, std::generic_category()}));
} catch (...) {
  rethrow_as_error();
}

/// Returns what a file that is not a regular one is called in errors.
inline char const* other_than_a_file(::mode_t mode) {
  return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

RILL_INLINE std::vector<std::string> names_in(std::filesystem::path const& directory, int& failed) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> const open(::opendir(directory.c_str()), [](DIR* d) { return ::closedir(d); });
  failed = open ? 0 : errno;
  while (open) {
    errno = 0;
    auto const* const entry = ::readdir(open.get());
    if (!entry) {
      failed = errno;
      break;
    }
    auto const name = std::string_view(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

}  // namespace files

RILL_INLINE input_file::input_file(std::filesystem::path path) try : path_(std::move(path)) {
  file_ = files::descriptor(files::uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC); }));
  struct stat about{};
  if (file_.get() < 0 || ::fstat(file_.get(), &about) != 0) files::fail("open", path_);
  regular_ = S_ISREG(about.st_mode);
  size_ = regular_ ? static_cast<std::uint64_t>(about.st_size) : 0;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void input_file::read_at(std::uint64_t offset, void* to, std::size_t bytes) const try {
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    auto const n = read_some(offset, p, bytes);
    if (n == 0)
      throw error(code::data_loss, "'" + path_.string() + "' ends at byte " + std::to_string(offset) + ", before " +
                                       std::to_string(bytes) + " more bytes that it should have");
    p += n, offset += n, bytes -= n;
  }
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::size_t input_file::read_some(std::uint64_t offset, void* to, std::size_t bytes) const {
  auto const n = files::uninterrupted([&] { return ::pread(file_.get(), to, bytes, static_cast<off_t>(offset)); });
  if (n < 0) files::fail("read", path_);
  return static_cast<std::size_t>(n);
}

RILL_INLINE std::string input_file::read_all(std::uint64_t most) const try {
  std::string bytes;
  std::size_t filled = 0;
  if (size_ > most) refuse(most);
  for (;;) {  // one byte more than the size, to detect the end without growing
    bytes.resize(std::max<std::size_t>(static_cast<std::size_t>(size_) + 1, filled + filled / 2 + 4096 * !regular_));
    auto const n = files::uninterrupted([&] { return ::read(file_.get(), &bytes[filled], bytes.size() - filled); });
    if (n < 0) files::fail("read", path_);
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
    if (filled > most) refuse(most);
  }
  bytes.resize(filled);
  return bytes;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void input_file::refuse(std::uint64_t most) const try {
  throw error(code::resource_exhausted, "'" + path_.string() + "' holds more than the " + std::to_string(most) +
                                            " bytes allowed: raise the bound if the file is trusted");
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::string read_file(std::filesystem::path const& path, std::uint64_t most) try {
  return input_file(path).read_all(most);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE output_file::output_file(std::filesystem::path path) try
    : path_(std::move(path)), directory_(path_.has_parent_path() ? path_.parent_path() : ".") {
  static std::atomic<unsigned> number{0};
  struct stat old{};
  bool const replaces = ::stat(path_.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode))
    throw error(code::failed_precondition, "cannot write '" + path_.string() + "': it is " +
                                               files::other_than_a_file(old.st_mode) +
                                               ", and only a file can be replaced by a new one");
  // Until `take_over`, nobody else may open the file: its group and owner are not yet those of the old one.
  auto const mode = replaces ? 0600 : 0666;  // minus the umask
  for (int attempt = 0; attempt < 100 && file_.get() < 0; ++attempt) {
    temporary_ = path_;
    temporary_ += ".";
    temporary_ += std::to_string(::getpid()) + "-" + std::to_string(number++) + ".tmp";
    file_ = files::descriptor(files::uninterrupted(
        [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); }));
    if (file_.get() < 0 && errno != EEXIST) files::fail("create", temporary_);
  }
  if (file_.get() < 0) files::fail("create", temporary_, EEXIST);
  if (replaces) take_over(old);
} catch (...) {
  rethrow_as_error();
}

/// Gives the new file the old one's owner, group and mode. If the process may not set the group, the mode's bits for
/// the group are cleared: they would open the file to another group. File systems without modes change nothing.
RILL_INLINE void output_file::take_over(struct ::stat const& old) const {
  auto const all = files::uninterrupted([&] { return ::fchown(file_.get(), old.st_uid, old.st_gid); }) == 0;
  auto const group = all || ::fchown(file_.get(), static_cast<::uid_t>(-1), old.st_gid) == 0;
  (void)!::fchmod(file_.get(), old.st_mode & (group ? 0777u : 0707u));
}

RILL_INLINE void output_file::write(std::string_view bytes) {
  while (!bytes.empty()) {
    // Linux writes at most 2 GiB at a time, and smaller pieces report a full disk earlier.
    auto const piece = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    auto const n = files::uninterrupted([&] { return ::write(file_.get(), bytes.data(), piece); });
    if (n < 0) files::fail("write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

RILL_INLINE void output_file::commit() {
  if (files::uninterrupted([&] { return ::fsync(file_.get()); }) != 0) files::fail("write", path_);
  if (::close(file_.release()) != 0 && errno != EINTR) files::fail("write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) files::fail("write", path_);
  committed_ = true;
  sync_directory();
}

// Needs no memory unless it fails, because the file has its name already.
RILL_INLINE void output_file::sync_directory() const {
  files::descriptor const d(files::uninterrupted([&] { return ::open(directory_.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (d.get() < 0) files::fail("open the directory", directory_);
  // Some file systems report that they can't sync directories: their renames are as durable as possible.
  if (files::uninterrupted([&] { return ::fsync(d.get()); }) != 0 && errno != EINVAL && errno != ENOTSUP)
    files::fail("write the directory", directory_);
}

RILL_INLINE directory_lock::directory_lock(std::filesystem::path const& directory)
    : held_(files::uninterrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); })) {
  if (held_.get() < 0) files::fail("open the directory", directory);
  if (files::uninterrupted([&] { return ::flock(held_.get(), LOCK_EX); }) != 0 && errno != EBADF && errno != EINVAL &&
      errno != ENOLCK && errno != EOPNOTSUPP)
    files::fail("lock the directory", directory);
}

RILL_INLINE void write_file(std::filesystem::path const& path, std::string_view bytes) try {
  output_file file(path);
  file.write(bytes);
  file.commit();
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
