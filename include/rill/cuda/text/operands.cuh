// What a kernel may have in the place of an array: a program that computes each element when it is read, or that takes
// each result when it is written. The text defines `Program`, the parameter with the program's addresses and strides.
#pragma once

namespace rill::text {

/// An array whose element i is `of.at(i)`.
template <class Program> class computed {
 public:
  explicit computed(Program const& of, long first = 0) : of_(of), first_(first) {}

  auto operator[](long i) const { return of_.at(static_cast<typename Program::counter>(first_ + i)); }
  friend computed operator+(computed a, long by) { return computed(a.of_, a.first_ + by); }

 private:
  Program const& of_;
  long first_;
};

/// An array whose element i is given to a program, which writes what it computes: `by.take(i, value)`.
template <class Program> class consumed {
 public:
  explicit consumed(Program const& by) : by_(by) {}

  struct place {
    Program const& by;
    long i;
    template <class V> void operator=(V value) const {
      by.take(static_cast<typename Program::counter>(i), static_cast<typename Program::taken>(value));
    }
  };
  place operator[](long i) const { return {by_, i}; }

 private:
  Program const& by_;
};

}  // namespace rill::text
