// The "C" locale for one thread, where the C library would read and write as the user's language does.
#pragma once
#include <locale.h>

#include <string>
#include <system_error>

namespace rill {

/// Gives the calling thread the "C" locale until the end of the scope, whatever `setlocale` has set for the program.
/// Allocates nothing.
class c_locale {
 public:
  c_locale() : before_(::uselocale(::newlocale(LC_ALL_MASK, "C", nullptr))) {}
  c_locale(c_locale const&) = delete;
  ~c_locale() { ::uselocale(before_); }

 private:
  ::locale_t before_;
};

/// Returns the system's message of an error in English, as the sentences are that it becomes part of.
inline std::string system_message(std::error_code of) {
  c_locale const english;
  return of.message();
}

}  // namespace rill
