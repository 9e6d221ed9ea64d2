// What goes wrong, as one exception type with a code, a sentence and the node it happened at.
#pragma once
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "rill/base/config.hpp"
#include "rill/base/utf8.hpp"

namespace rill {

namespace detail {
class placed_errors;
}

/// The kind of a failure; the names are those of the papers' systems and of gRPC.
enum class code : std::uint8_t {
  invalid_argument,
  not_found,
  out_of_range,  ///< the end of an input, which a training loop waits for, and nothing else
  resource_exhausted,
  failed_precondition,
  aborted,
  cancelled,
  unavailable,
  deadline_exceeded,
  unauthenticated,
  data_loss,
  unimplemented,
  internal,
};

/// The code's own name, for messages.
constexpr std::string_view name(code c) {
  constexpr std::string_view names[] = {
      "invalid_argument", "not_found",     "out_of_range", "resource_exhausted", "failed_precondition",
      "aborted",          "cancelled",     "unavailable",  "deadline_exceeded",  "unauthenticated",
      "data_loss",        "unimplemented", "internal"};
  return names[static_cast<std::size_t>(c)];
}

/// Every failure of rill: a code, a sentence (what was expected, what came, what to do) and, where there is one, the
/// node. Copies share it, so that to throw one again needs no memory.
class error : public std::exception {
 public:
  /// Where there is no memory for the sentence, the error says that.
  error(rill::code what_kind, std::string sentence, std::string at = {}) noexcept;
  /// "no memory", for whose sentence none is needed.
  static error no_memory() noexcept { return {}; }

  /// Returns what kind of failure it is.
  rill::code code() const noexcept { return about_ ? about_->code : code::resource_exhausted; }
  /// The sentence alone, without code and node.
  std::string const& message() const noexcept;
  /// The name of the node that failed; empty if the failure belongs to none.
  std::string const& node() const noexcept;
  /// All of it, as a terminal may show it, whatever it quotes.
  char const* what() const noexcept override { return about_ ? about_->text.c_str() : "resource_exhausted: no memory"; }

 private:
  friend class detail::placed_errors;
  error() noexcept = default;
  struct about {
    rill::code code;
    std::string message, node, text;
  };
  std::shared_ptr<about const> about_;  // null: no memory
  std::int64_t placed_below_ = 0;       // see detail::placed_errors
};

namespace detail {

/// Errors on their way out of a function that calls itself. The innermost call says where the error was, and the calls
/// around it have nothing to add: between them and the outermost call of the function an error is thrown on as it is,
/// so that a deep recursion ends quickly.
class placed_errors {
 public:
  /// Whether to throw it on as it is.
  static bool holds(error const& e) noexcept { return e.placed_below_ != 0; }
  /// The error, marked so that calls deeper than `calls` throw it on as it is; 0: not marked.
  static error below(std::int64_t calls, error e) noexcept {
    e.placed_below_ = calls;
    return e;
  }
  /// Whether it is so at that depth too.
  static bool holds(error const& e, std::int64_t calls) noexcept { return holds(e) && calls > e.placed_below_; }
};

}  // namespace detail

#if RILL_RUNTIME
RILL_INLINE error::error(rill::code what_kind, std::string sentence, std::string at) noexcept {
  try {
    auto text =
        readable(std::string(rill::name(what_kind)) + ": " + (at.empty() ? "" : "node '" + at + "': ") + sentence);
    about_ = std::make_shared<about const>(about{what_kind, std::move(sentence), std::move(at), std::move(text)});
  } catch (std::bad_alloc const&) {
  }
}
// Strings as short as these need no memory.
RILL_INLINE std::string const& error::message() const noexcept {
  static std::string const none = "no memory";
  return about_ ? about_->message : none;
}
RILL_INLINE std::string const& error::node() const noexcept {
  static std::string const none;
  return about_ ? about_->node : none;
}
#endif

/// An error on its way between threads, each of which throws a copy of its own; null: none.
using failure = std::shared_ptr<error const>;

/// The failure that such an error is.
failure as_failure(error e) noexcept;
failure failed(code c, std::string sentence) noexcept;
/// The same of a sentence in pieces; where there is no memory to join them, "no memory".
failure failed(code c, std::initializer_list<std::string_view> pieces) noexcept;

/// What is being caught, as a failure.
failure caught_failure() noexcept;

/// Throws what is being caught again. That there is no memory or no thread, which the standard library says in its own
/// types, is an error of rill then; what a user's own code throws stays what it is. What users call ends with it:
/// `} catch (...) { rethrow_as_error(); }`.
[[noreturn]] void rethrow_as_error();

/// Calls `f()`, and throws as `rethrow_as_error` does.
template <class F> decltype(auto) only_errors(F&& f) {
  try {
    return f();
  } catch (...) {
    rethrow_as_error();
  }
}

/// Throws `error(invalid_argument, why)` unless `ok`. In a constant expression the compiler prints the call, and with
/// it the sentence.
constexpr void expects(bool ok, char const* why) {
  if (!ok) throw error(code::invalid_argument, why);
}

#if RILL_RUNTIME

RILL_INLINE failure as_failure(error e) noexcept {
  static error const no_memory = error::no_memory();
  try {
    return std::make_shared<error const>(std::move(e));
  } catch (std::bad_alloc const&) {
    return failure(failure(), &no_memory);  // which needs none
  }
}

RILL_INLINE failure failed(code c, std::string sentence) noexcept { return as_failure(error(c, std::move(sentence))); }
RILL_INLINE failure failed(code c, std::initializer_list<std::string_view> pieces) noexcept try {
  std::string sentence;
  for (auto const& p : pieces) sentence += p;
  return failed(c, std::move(sentence));
} catch (std::bad_alloc const&) {
  return as_failure(error::no_memory());
}

RILL_INLINE void rethrow_as_error() {
  try {
    throw;
  } catch (std::bad_alloc const&) {
  } catch (std::length_error const&) {
  } catch (std::system_error const&) {
  }
  throw error(*caught_failure());
}

RILL_INLINE failure caught_failure() noexcept try {
  try {
    throw;
  } catch (error const& e) {
    return as_failure(e);
  } catch (std::bad_alloc const&) {
    return failed(code::resource_exhausted, "no memory");
  } catch (std::length_error const&) {
    return failed(code::resource_exhausted, "something needs more memory than there can be");
  } catch (std::system_error const& e) {
    return failed(code::unavailable, std::string("the system refused something: ") + e.what());
  } catch (std::exception const& e) {
    return failed(code::internal, std::string("something threw: ") + e.what());
  } catch (...) {
    return failed(code::internal, "something threw what is no exception");
  }
} catch (...) {
  return as_failure(error::no_memory());
}

#endif

}  // namespace rill
