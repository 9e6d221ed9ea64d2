// A matrix product by a GPU in the order of rill/ops/matrix/gemm_plan.hpp: k falls into blocks of `depth`; a block's
// sum starts at zero and takes its products in the order of k, each rounded once; sums of blocks are added in their
// order.
#pragma once

namespace bench {

/// C[m, n] = A[m, k] B[k, n], rows contiguous, m and n multiples of 128, k and depth of 8; 256 threads for each tile of
/// 128 x 128, with 8 x 8 of its elements each, in four squares that lie apart.
inline void product(float const* a, float const* b, float* c, int n, int k, int depth) {
  __shared__ float4 rows[2][8][128 / 4 + 1], columns[2][8][128 / 4];
  int const thread = threadIdx.x, x = thread % 16, y = thread / 16;
  auto const* from_a = reinterpret_cast<float4 const*>(a + (blockIdx.y * 128l + thread / 2) * k) + thread % 2;
  auto const* from_b =
      reinterpret_cast<float4 const*>(b + static_cast<long>(thread / 32) * n + blockIdx.x * 128) + thread % 32;
  float4 next_a = *from_a, next_b = *from_b;
  auto const put = [&](int place) {  // A is turned, so that a thread's rows lie side by side
    auto* const turned = reinterpret_cast<float*>(&rows[place][thread % 2 * 4][0]) + thread / 2;
    constexpr int apart = 128 + 4;
    turned[0] = next_a.x, turned[apart] = next_a.y, turned[2 * apart] = next_a.z, turned[3 * apart] = next_a.w;
    columns[place][thread / 32][thread % 32] = next_b;
  };
  put(0);
  __syncthreads();
  float sum[8][8] = {};
  for (int at = 0, in_block = 8, place = 0; at < k; at += 8, in_block += 8, place ^= 1) {
    bool const more = at + 8 < k;
    if (more) {
      from_a += 2, from_b += 2l * n;
      next_a = *from_a, next_b = *from_b;
    }
    for (int step = 0; step < 8; ++step) {
      float4 const a0 = rows[place][step][y], a1 = rows[place][step][y + 16];
      float4 const b0 = columns[place][step][x], b1 = columns[place][step][x + 16];
      float const left[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      float const right[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) sum[i][j] = __fmaf_rn(left[i], right[j], sum[i][j]);
    }
    if (in_block == depth || !more) {
      bool const first = at < depth;
      for (int i = 0; i < 8; ++i) {
        long const row = blockIdx.y * 128 + y * 4 + i / 4 * 64 + i % 4;
        for (int half = 0; half < 2; ++half) {
          auto* const to = reinterpret_cast<float4*>(c + row * n + blockIdx.x * 128 + half * 64) + x;
          float* const s = &sum[i][4 * half];
          float4 const old = first ? float4{} : *to;
          *to = first ? float4{s[0], s[1], s[2], s[3]} : float4{old.x + s[0], old.y + s[1], old.z + s[2], old.w + s[3]};
          s[0] = s[1] = s[2] = s[3] = 0;
        }
      }
      in_block = 0;
    }
    if (more) {
      put(place ^ 1);
      __syncthreads();
    }
  }
}

}  // namespace bench
