#!/usr/bin/env python3
"""card.py: prints the GPU, its driver and NVRTC that rill finds here, in one line; or, on stderr, a sentence that says what
is missing, and ends with 1.

It opens the libraries that include/rill/cuda opens: those that RILL_CUDA_DRIVER and RILL_NVRTC name, if they are set.
"""
import ctypes
import os
import subprocess
import sys


class Missing(Exception):
    pass


def opened(variable, usual, what):
    why = None
    for name in [os.environ[variable]] if os.environ.get(variable) else usual:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            why = why or error
    raise Missing(f"there is no {what}: {why}")


def version(number):
    return f"{number // 1000}.{number % 1000 // 10}"


def card(driver):
    """Returns the first GPU's name, memory and capability, and the CUDA version of the driver."""

    def call(name, *arguments):
        code = getattr(driver, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            driver.cuGetErrorString(code, ctypes.byref(text))
            said = (text.value or b"unknown error").decode()
            raise Missing(f"the CUDA driver finds no GPU that can be used: {name} failed: {said} ({code})")

    number, device, name, bytes_ = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t()
    call("cuDriverGetVersion", ctypes.byref(number))
    if number.value < 12000:
        raise Missing(f"the CUDA driver is of CUDA {version(number.value)}; rill needs one of CUDA 12 or newer")
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDeviceGetName", name, 256, device)
    call("cuDeviceTotalMem_v2", ctypes.byref(bytes_), device)
    parts = []
    for attribute in (75, 76):  # the major and minor number of the compute capability
        part = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(part), attribute, device)
        parts.append(str(part.value))
    return name.value.decode(), bytes_.value / 2**30, ".".join(parts), version(number.value)


def release():
    """Returns the driver's own version, where there is nvidia-smi."""
    if os.environ.get("RILL_CUDA_DRIVER"):
        return ""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.split("\n")[0].strip() + " " if done.returncode == 0 else ""


def nvrtc():
    library = opened("RILL_NVRTC", ["libnvrtc.so.13", "libnvrtc.so.12"], "NVRTC here, which compiles kernels")
    major, minor = ctypes.c_int(), ctypes.c_int()
    if library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) != 0:
        raise Missing("NVRTC does not say its version")
    return f"{major.value}.{minor.value}"


def main():
    try:
        name, memory, capability, cuda = card(opened("RILL_CUDA_DRIVER", ["libcuda.so.1"], "CUDA driver here"))
        print(f"{name} ({memory:.0f} GiB, compute capability {capability}), driver {release()}for CUDA {cuda}, "
              f"NVRTC {nvrtc()}")
    except (Missing, AttributeError) as why:
        print(f"rill: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
