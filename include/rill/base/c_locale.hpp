// Gives one thread the "C" locale, where the C library would otherwise follow the user's locale.
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

/// Returns the system's message for an error in English, like the sentences that quote it.
inline std::string system_message(std::error_code of) {
  c_locale const english;
  return of.message();
}

/// Returns what an error of the system says, with the call that failed and its files if it has them, "bind: Address
/// already in use", in English.
inline std::string system_text(std::system_error const& e) {
  std::string text = e.what();
  auto const said = e.code().message(), english = system_message(e.code());  // `what()` is in the program's locale
  if (text.ends_with(said)) return text.replace(text.size() - said.size(), said.size(), english);
  auto const at = text.find(": " + said + " [");  // the names of files stand behind it
  return at == text.npos ? text + ": " + english : text.replace(at + 2, said.size(), english);
}

}  // namespace rill
