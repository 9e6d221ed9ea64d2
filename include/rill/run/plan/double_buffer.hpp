// Two of a kind that take turns.
#pragma once
#include <utility>

namespace rill::detail {

/// Holds one T, and when it is turned over for the first time a copy of it: from then on each turn goes to the other.
template <class T> class double_buffer {
 public:
  T& operator*() { return faces_[now_]; }
  T const& operator*() const { return faces_[now_]; }
  T* operator->() { return &faces_[now_]; }
  T const* operator->() const { return &faces_[now_]; }

  void flip() {
    if (!std::exchange(turned_, true)) faces_[!now_] = faces_[now_];
    now_ = !now_;
  }
  /// Calls `f` with the one, and with the other if there is one.
  template <class F> void for_each(F const& f) {
    f(faces_[now_]);
    if (turned_) f(faces_[!now_]);
  }
  /// Forgets the other one.
  void rest() { turned_ = false; }

 private:
  T faces_[2];
  bool now_ = false, turned_ = false;
};

}  // namespace rill::detail
