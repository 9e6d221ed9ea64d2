// The exception type of rill: a code, a cause, a sentence, and the node and device at which the error happened.
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

#include "rill/base/c_locale.hpp"
#include "rill/base/config.hpp"
#include "rill/base/utf8.hpp"

namespace rill {

namespace detail {
class placed_errors;
}

/// The kind of an error. The names are gRPC's, as in TensorFlow.
enum class code : std::uint8_t {
  invalid_argument,
  not_found,
  out_of_range,  ///< the end of an input, at which a training loop stops; used for nothing else
  resource_exhausted,
  failed_precondition,
  aborted,
  cancelled,
  unavailable,
  deadline_exceeded,
  unauthenticated,
  permission_denied,
  data_loss,
  unimplemented,
  internal,
};

/// Returns the code's name, for messages.
constexpr std::string_view name(code c) {
  constexpr std::string_view names[] = {
      "invalid_argument", "not_found",   "out_of_range",      "resource_exhausted", "failed_precondition", "aborted",
      "cancelled",        "unavailable", "deadline_exceeded", "unauthenticated",    "permission_denied",   "data_loss",
      "unimplemented",    "internal"};
  return names[static_cast<std::size_t>(c)];
}

/// Why there was a failure: tells, with the code, whether to go on, to wait or to stop.
enum class cause : std::uint8_t {
  own,        ///< the program, its input or a resource was wrong or missing
  lost,       ///< another process, or a device, was lost or can't be reached
  asked_for,  ///< the step was stopped or ran past its deadline, as its caller wished
  derived,    ///< something else ended because of another failure, which says why
};

/// Returns the cause's name.
constexpr std::string_view name(cause c) {
  constexpr std::string_view names[] = {"own", "lost", "asked_for", "derived"};
  return names[static_cast<std::size_t>(c)];
}

/// What kind of failure it is: a code, and the failure's cause.
struct error_kind {
  rill::code code;
  rill::cause cause;

  constexpr error_kind(rill::code c, rill::cause why = rill::cause::own) noexcept : code(c), cause(why) {}
};

/// An error of rill: a code, its cause, a sentence (what was expected, what came, what to do), and the node and the
/// device, if the error has them. Copies share one allocation, so throwing an error again allocates nothing.
class error : public std::exception {
 public:
  /// If memory for the sentence can't be allocated, the error says "no memory" instead.
  error(error_kind what_kind, std::string sentence, std::string at = {}, std::string device = {}) noexcept;
  /// The same for a literal, which is copied here, so that a lack of memory can't escape from the copy.
  error(error_kind what_kind, char const* sentence) noexcept;
  /// Returns the error "no memory", which allocates nothing.
  static error no_memory() noexcept { return {}; }

  /// Returns what kind of failure it is.
  rill::code code() const noexcept { return kind().code; }
  /// Returns why there was a failure.
  rill::cause cause() const noexcept { return kind().cause; }
  /// Returns both. Whoever adds to the sentence of an error makes another one of this kind.
  error_kind kind() const noexcept { return about_ ? about_->kind : error_kind(rill::code::resource_exhausted); }
  /// Returns the sentence without code and node.
  std::string const& message() const noexcept;
  /// Returns the name of the node that failed; empty if the error belongs to no node.
  std::string const& node() const noexcept;
  /// Returns the full name of the device on which it failed, "/device:gpu:0"; empty: the host, or unknown.
  std::string const& device() const noexcept;
  /// Returns code, node, device and sentence, with control characters escaped for a terminal.
  char const* what() const noexcept override { return about_ ? about_->text.c_str() : "resource_exhausted: no memory"; }

 private:
  friend class detail::placed_errors;
  error() noexcept = default;
  struct about {
    error_kind kind;
    std::string message, node, device, text;
  };
  std::shared_ptr<about const> about_;  // null: no memory
  std::int64_t placed_below_ = 0;       // see detail::placed_errors
};

namespace detail {

/// Marks errors that leave a recursive function. The innermost call adds its location to the error; the calls between
/// it and the outermost call have nothing to add and throw the error on unchanged, so that a deep recursion ends
/// quickly.
class placed_errors {
 public:
  /// Whether the error is to be thrown on unchanged.
  static bool holds(error const& e) noexcept { return e.placed_below_ != 0; }
  /// Returns the error, marked so that calls deeper than `calls` throw it on unchanged; 0 removes the mark.
  static error below(std::int64_t calls, error e) noexcept {
    e.placed_below_ = calls;
    return e;
  }
  /// Whether a call at depth `calls` is to throw the error on unchanged.
  static bool holds(error const& e, std::int64_t calls) noexcept { return holds(e) && calls > e.placed_below_; }
};

}  // namespace detail

#if RILL_RUNTIME
RILL_INLINE error::error(error_kind what_kind, std::string sentence, std::string at, std::string device) noexcept {
  try {
    auto where = at.empty() ? std::string() : "node '" + at + "'";
    if (!device.empty()) where += (where.empty() ? "on " : " on ") + device;
    auto text =
        readable(std::string(rill::name(what_kind.code)) + ": " + (where.empty() ? "" : where + ": ") + sentence);
    about_ = std::make_shared<about const>(
        about{what_kind, std::move(sentence), std::move(at), std::move(device), std::move(text)});
  } catch (std::bad_alloc const&) {
  }
}
RILL_INLINE error::error(error_kind what_kind, char const* sentence) noexcept {
  try {
    *this = error(what_kind, std::string(sentence));
  } catch (std::bad_alloc const&) {
  }
}
// The small-string optimisation holds these strings, so they need no memory.
RILL_INLINE std::string const& error::message() const noexcept {
  static std::string const none = "no memory";
  return about_ ? about_->message : none;
}
RILL_INLINE std::string const& error::node() const noexcept {
  static std::string const none;
  return about_ ? about_->node : none;
}
RILL_INLINE std::string const& error::device() const noexcept {
  static std::string const none;
  return about_ ? about_->device : none;
}
#endif

/// An error that is passed between threads, each of which throws its own copy; null if there is no error.
using failure = std::shared_ptr<error const>;

/// Returns the error as a failure.
failure as_failure(error e) noexcept;
failure failed(error_kind what_kind, std::string sentence) noexcept;
/// The same, with a sentence in pieces; returns "no memory" if memory to join them can't be allocated.
failure failed(error_kind what_kind, std::initializer_list<std::string_view> pieces) noexcept;

/// Returns the exception that is being handled as a failure.
failure caught_failure() noexcept;

/// Rethrows the exception that is being handled. The standard library's exceptions for a lack of memory or threads
/// become errors of rill; exceptions of a user's own code stay as they are. Every function that users call ends with
/// it: `} catch (...) { rethrow_as_error(); }`.
[[noreturn]] void rethrow_as_error();

/// Calls `f()` and returns its result; throws as `rethrow_as_error` does.
template <class F> decltype(auto) only_errors(F&& f) {
  try {
    return f();
  } catch (...) {
    rethrow_as_error();
  }
}

/// Throws `error(invalid_argument, why)` unless `ok`. In a constant expression the compiler prints the call and, with
/// it, the sentence.
constexpr void expects(bool ok, char const* why) {
  if (!ok) throw error(code::invalid_argument, why);
}

#if RILL_RUNTIME

RILL_INLINE failure as_failure(error e) noexcept {
  static error const no_memory = error::no_memory();
  try {
    return std::make_shared<error const>(std::move(e));
  } catch (std::bad_alloc const&) {
    return failure(failure(), &no_memory);  // allocates nothing
  }
}

RILL_INLINE failure failed(error_kind what_kind, std::string sentence) noexcept {
  return as_failure(error(what_kind, std::move(sentence)));
}
RILL_INLINE failure failed(error_kind what_kind, std::initializer_list<std::string_view> pieces) noexcept try {
  std::string sentence;
  for (auto const& p : pieces) sentence += p;
  return failed(what_kind, std::move(sentence));
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
    return failed(code::resource_exhausted, "a container would be longer than the standard library allows");
  } catch (std::system_error const& e) {
    return failed(code::unavailable, "a system call failed: " + system_text(e));
  } catch (std::exception const& e) {
    return failed(code::internal, std::string("an exception was thrown: ") + e.what());
  } catch (...) {
    return failed(code::internal, "an object was thrown that is not derived from std::exception");
  }
} catch (...) {
  return as_failure(error::no_memory());
}

#endif

}  // namespace rill
