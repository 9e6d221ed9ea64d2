// What goes wrong, as one exception type with a code, a sentence and the node it happened at.
#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "rill/base/config.hpp"
#include "rill/base/utf8.hpp"

namespace rill {

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
/// node.
class error : public std::exception {
 public:
  error(rill::code what_kind, std::string sentence, std::string at = {});

  rill::code code() const noexcept { return code_; }
  /// The sentence alone, without code and node.
  std::string const& message() const noexcept { return message_; }
  /// The name of the node that failed; empty if the failure belongs to none.
  std::string const& node() const noexcept { return node_; }
  /// All of it, as a terminal may show it, whatever it quotes.
  char const* what() const noexcept override { return text_.c_str(); }

 private:
  rill::code code_;
  std::string message_, node_, text_;
};

#if RILL_RUNTIME
RILL_INLINE error::error(rill::code what_kind, std::string sentence, std::string at)
    : code_(what_kind), message_(std::move(sentence)), node_(std::move(at)) {
  text_ = readable(std::string(rill::name(code_)) + ": " + (node_.empty() ? "" : "node '" + node_ + "': ") + message_);
}
#endif

/// An error on its way between threads, each of which throws a copy of its own; null: none.
using failure = std::shared_ptr<error const>;

/// The failure that such an error is.
failure failed(code c, std::string sentence);

/// What is being caught, as a failure.
failure caught_failure();

/// Throws `error(invalid_argument, why)` unless `ok`. In a constant expression the compiler prints the call, and with
/// it the sentence.
constexpr void expects(bool ok, char const* why) {
  if (!ok) throw error(code::invalid_argument, why);
}

#if RILL_RUNTIME

RILL_INLINE failure failed(code c, std::string sentence) {
  return std::make_shared<error const>(c, std::move(sentence));
}

RILL_INLINE failure caught_failure() {
  try {
    throw;
  } catch (error const& e) {
    return std::make_shared<error const>(e);
  } catch (std::bad_alloc const&) {
    return failed(code::resource_exhausted, "no memory");
  } catch (std::exception const& e) {
    return failed(code::internal, std::string("something threw: ") + e.what());
  } catch (...) {
    return failed(code::internal, "something threw what is no exception");
  }
}

#endif

}  // namespace rill
