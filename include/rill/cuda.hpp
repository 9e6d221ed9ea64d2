// GPUs as devices of sessions (rill::cuda in CMake). It needs neither CUDA's toolkit nor a GPU: the driver and NVRTC
// are opened when a program asks for a GPU.
#pragma once
#include "rill/cuda/dlpack.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"
#include "rill/train/prefetch.hpp"
