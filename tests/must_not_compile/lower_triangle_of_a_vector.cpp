// expect: lower_triangle(float32[3]): expected a matrix or an array of matrices
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 3, 3>> matrix, rill::expr<rill::of<float, 3>> row) {
#ifdef VALID
  rill::lower_triangle(matrix);
  (void)row;
#else
  rill::lower_triangle(row);
  (void)matrix;
#endif
}
