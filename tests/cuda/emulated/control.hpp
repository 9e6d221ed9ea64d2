// What the emulated driver adds to CUDA's: ways to make it lie, and to see what it did. Tests find these functions in
// the loaded object by their names.
//
// Environment variables:
//   RILL_EMULATED_GPUS            how many devices there are (2), when cuInit is called for the first time
//   RILL_EMULATED_MEMORY          bytes of each (1 GiB)
//   RILL_EMULATED_DRIVER_VERSION  as cuDriverGetVersion returns it (13000)
//   RILL_EMULATED_NVRTC_VERSION   NVRTC's, counted in the same way (13000)
//   RILL_EMULATED_ORDER           the seed of rill_emulated_set_order (0)
//   RILL_EMULATED_COMPILER        the g++ that compiles kernels
//   RILL_EMULATED_SANITIZE        if set, kernels are compiled with -fsanitize=undefined
//   RILL_EMULATED_CACHE           the folder of what it compiled, which several processes may share
#pragma once
#include "rill/cuda/driver_api.hpp"

extern "C" {

/// Sets the order in which blocks, and the threads of each, run: 0 ascending, 1 descending, else random by this seed.
void rill_emulated_set_order(unsigned long long seed);
/// Returns what the last access that was refused was, or an empty text. It stays valid.
char const* rill_emulated_last_fault();

/// The n-th allocation from now on fails with out_of_memory: 1 is the next, 0 none.
void rill_emulated_fail_allocation(unsigned n);
/// The n-th allocation of page-locked memory from now on fails with out_of_memory.
void rill_emulated_fail_page_locked(unsigned n);
/// The n-th launch from now on is taken and fails when its stream reaches it.
void rill_emulated_fail_launch(unsigned n);
/// The n-th launch from now on runs only after rill_emulated_release_launches, or when its context ends.
void rill_emulated_hold_launch(unsigned n);
/// Lets launches that are held run.
void rill_emulated_release_launches();
/// Returns how many launches the driver has taken so far, done or not.
unsigned long long rill_emulated_launches();
/// Devices can't access each other's memory from now on, or can.
void rill_emulated_refuse_peers(bool refuse);
/// Returns how many copies between devices were direct: the source's pool was open to the receiver.
unsigned long long rill_emulated_direct_copies();
/// All calls of the device's context fail with `error` until the context is released. Returns whether there is one.
bool rill_emulated_lose_device(int device, rill::cuda::status error);

/// What is alive, of all devices together.
struct rill_emulated_counts {
  unsigned long long contexts, allocations, bytes, pools, streams, events, modules, programs, page_locked,
      page_locked_bytes;
};
/// Returns what is alive.
rill_emulated_counts rill_emulated_count();
/// Returns how many texts the host's compiler has compiled for this process, without those found in the cache.
unsigned long long rill_emulated_compiled_texts();
/// Returns how many programs nvrtcCompileProgram was asked to compile, by this process.
unsigned long long rill_emulated_compiled_programs();

}  // extern "C"
