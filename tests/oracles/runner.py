"""Applies one check to many files in one process (the packages take seconds to import)."""
import importlib.util, json, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
FORMATS = ("contextforge", "reflex", "openreward", "synth", "invariant", "messages", "atif", "inspect", "verifiers", "deepeval", "adk")

# Formats whose packages do not go together with those of requirements.txt: they have an environment of their own.
ELSEWHERE = {"inspect": "inspect_ai", "deepeval": "deepeval", "adk": "google.adk"}

def missing(fmt):
    """The package that is not installed and without which documents of the format cannot be loaded."""
    package = ELSEWHERE.get(fmt)
    try:
        return None if package is None or importlib.util.find_spec(package) else package
    except ImportError:
        return package

def verdicts(fmt, files):
    """(path, accepted, message) of every file."""
    if not files:
        return []
    if missing(fmt):
        print(f"skipped: {len(files)} documents of {fmt}, since {missing(fmt)} is not installed")
        return []
    runner = os.path.join(os.path.dirname(HERE), "judge", "oracle_runner.py")
    done = subprocess.run([sys.executable, runner, HERE, fmt], input="".join(f + "\n" for f in files),
                          capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if [r[0] for r in rows] != files:
        tail = done.stderr.strip().splitlines()[-3:]
        return [(f, False, f"check_{fmt}.py did not run: {' | '.join(tail)}") for f in files]
    return [tuple(r) for r in rows]
