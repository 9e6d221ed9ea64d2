// The language of a user who does not write English, for the time of a test.
#pragma once
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <locale>
#include <stdexcept>
#include <string>

#if defined(__SANITIZE_ADDRESS__)
#define RILL_TEST_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RILL_TEST_LEAKS 1
#endif
#endif
#ifdef RILL_TEST_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace rill::test {

/// Sets the program's locale, C's and C++'s, to one that localedef makes: "de_DE" writes 1.234,5; the point of "ps_AF"
/// has two bytes. The destructor sets it back. False if this machine can't make it.
class foreign {
 public:
  explicit foreign(std::string const& language) {
    auto folder = (std::filesystem::temp_directory_path() / "rill-locale-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    auto const name = language + ".UTF-8";
    // It warns of much that the languages of other countries have.
    (void)!std::system(
        ("localedef -i " + language + " -f UTF-8 '" + folder + "/" + name + "' >/dev/null 2>&1").c_str());
    ::setenv("LOCPATH", folder.c_str(), 1);
    try {
#ifdef RILL_TEST_LEAKS
      __lsan::ScopedDisabler const leaks;  // glibc's newlocale does not free its copy of LOCPATH
#endif
      std::locale::global(std::locale(name.c_str()));
      set_ = true;
    } catch (std::runtime_error const&) {
    }
  }
  foreign(foreign const&) = delete;
  ~foreign() {
    if (known_.empty()) ::unsetenv("LOCPATH");
    else ::setenv("LOCPATH", known_.c_str(), 1);
    if (set_) std::locale::global(before_);  // which C looks up by its name
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  explicit operator bool() const { return set_; }

 private:
  static std::string path() {
    char const* const set = std::getenv("LOCPATH");
    return set ? set : "";
  }

  std::locale before_;
  std::string known_ = path();
  std::filesystem::path folder_;
  bool set_ = false;
};

}  // namespace rill::test
