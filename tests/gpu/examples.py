#!/usr/bin/env python3
"""examples.py BUILD [--few]: runs examples of the build folder with --device gpu and with --device cpu, and expects equal
words, and equal checkpoints, of both. --few: as few steps as an emulated driver needs minutes for.

RILL_CUDA_DRIVER and RILL_NVRTC name another driver than the machine's own, as for every program of rill's.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Failed(Exception):
    pass


def run(program, words, device, place, may_fail):
    """Returns what the program prints, and its checkpoints by name."""
    done = subprocess.run([program, *words, "--device", device], capture_output=True, text=True, cwd=place)
    # A model that has learnt too little ends with 1; after few steps that is no failure, if it does so on both devices.
    if done.returncode != 0 and not (may_fail and done.returncode == 1 and "it has not learnt" in done.stderr):
        raise Failed(f"--device {device}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    # Soft placement does without a GPU that is absent. Then both runs are the host's.
    if "does without the device" in done.stderr:
        raise Failed(done.stderr.strip())
    files = {str(file.relative_to(place)): file.read_bytes() for file in sorted(place.rglob("*.safetensors"))}
    return done.stdout, files


def compare(program, words, may_fail):
    results = []
    for device in ("cpu", "gpu"):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "examples").symlink_to(ROOT / "examples")  # some read examples/data
            results.append(run(program, words, device, place, may_fail))
    (here, files_here), (there, files_there) = results
    if here != there:
        lines = difflib.unified_diff(here.splitlines(), there.splitlines(), "cpu", "gpu", n=0, lineterm="")
        raise Failed("\n".join(list(lines)[:20]))
    if not here.strip():
        raise Failed("it prints nothing")
    if files_here.keys() != files_there.keys():
        raise Failed(f"other checkpoints: {sorted(files_here)} on the host, {sorted(files_there)} on the GPU")
    differ = [name for name in files_here if files_here[name] != files_there[name]]
    if differ:
        raise Failed(f"the checkpoints differ: {', '.join(differ)}")
    numbers = re.findall(r"\d+\.\d+", here)
    return f"equal: {len(here.splitlines())} lines, {len(numbers)} numbers, {len(files_here)} files of tensors"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("--few", action="store_true")
    arguments.add_argument("--only", default="", help="those whose name and words match this regular expression")
    given = arguments.parse_args()
    folder = given.build.resolve() / "examples"
    few = given.few
    runs = [
        ("digits", ["--model", "mlp", "--epochs", "1" if few else "10"]),
        ("digits", ["--model", "conv", "--epochs", "1" if few else "5"]),
        ("model_residual", ["3" if few else "300"]),
        ("model_transformer", ["1" if few else "300"]),
    ]
    titles = {" ".join([name, *words]): (name, words) for name, words in runs}
    chosen = [title for title in titles if re.search(given.only, title)]
    if not chosen:
        arguments.error(f"--only {given.only} matches none of {', '.join(titles)}")
    failed = 0
    for title in chosen:
        name, words = titles[title]
        begin = time.monotonic()
        try:
            said = compare(folder / name, words, few)
        except (Failed, OSError) as why:
            said = f"FAILED: {why}"
            failed += 1
        print(f"{title} ({time.monotonic() - begin:.0f} s): {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
