// expect: softmax_cross_entropy(float32[8, 10], int32[7]): there is not one label for each row: 8 against 7
#include <rill/rill.hpp>
void f(rill::expr<rill::of<float, 8, 10>> logits, rill::expr<rill::of<int, 8>> labels,
       rill::expr<rill::of<int, 7>> fewer) {
#ifdef VALID
  rill::softmax_cross_entropy(logits, labels);
  (void)fewer;
#else
  rill::softmax_cross_entropy(logits, fewer);
  (void)labels;
#endif
}
