// expect: permutation(float32[]): a scalar has no rows
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, "n">> rows, rill::expr<rill::of<float>> number) {
#ifdef VALID
  rill::permutation_of_rows(rows);
  (void)number;
#else
  rill::permutation_of_rows(number);
  (void)rows;
#endif
}
