// What a program may have before it includes rill: the macros of <complex.h> and of Qt, and a language in which
// std::to_string writes fractions with a comma. Whoever calls that with a fraction does not compile.
#pragma once
#include <complex.h>  // I

#include <string>

#define emit
#define signals public
#define slots
#define foreach(variable, container) for (variable : container)
#define forever for (;;)
#define SIGNAL(a) #a
#define SLOT(a) #a
#define METHOD(a) #a

namespace std {
template <class T> string text_in_any_language(T x) { return to_string(x); }
string text_in_any_language(float) = delete;
string text_in_any_language(double) = delete;
string text_in_any_language(long double) = delete;
}  // namespace std
#define to_string text_in_any_language
