"""Runs each example on documents of a recording. usage: run.py [--bin PROGRAM] [--python PYTHON]

Where a package is not installed, its example reports that and is not counted.
"""
import argparse, pathlib, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
RECORDING = TOP / "tests/corpus/oi-langchain-toolerror/001.traces.bin"
# The example, its package, what makes its input (OUT: a path), and words that it prints.
EXAMPLES = [
    ("load_datasets.py", "datasets", ["--to", "messages", "--jsonl", "--output", "OUT"], "the last one by assistant"),
    ("deepeval_cases.py", "deepeval", ["--to", "deepeval"], "['get_weather', 'get_weather', 'get_time']"),
    ("inspect_log.py", "inspect_ai", ["--to", "inspect", "--output", "OUT"], "messages,"),
    ("adk_eval_set.py", "google.adk", ["--to", "adk"], "-> Answer: Paris"),
    ("atif_trajectory.py", "atif", ["--to", "atif"], "What is the weather"),
    ("pydantic_evals_set.py", "pydantic_evals", ["--to", "pydantic-evals", "--output", "OUT"], "['get_time', 'get_weather']"),
    ("langsmith_examples.py", "langsmith", ["--to", "langsmith-examples"], ": What is the weather"),
    ("langfuse_items.py", "langfuse", ["--to", "langfuse-items"], "-> Answer: Paris"),
    ("braintrust_records.py", "braintrust", ["--to", "braintrust-records"], "-> Answer: Paris"),
    ("witness_trace.py", "aevyra_witness", ["--to", "reflex"], "get_weather failed"),
]

parser = argparse.ArgumentParser()
parser.add_argument("--bin", default=str(TOP / "target/debug/spanbridge"))
parser.add_argument("--python", action="append", help="an interpreter with some of the packages; repeatable")
arguments = parser.parse_args()
pythons = [path for path in map(shutil.which, arguments.python or [sys.executable]) if path]
pythons = [str(pathlib.Path(path).absolute()) for path in pythons]


def has(python, package):
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


passed = failed = 0
for script, package, flags, words in EXAMPLES:
    python = next((python for python in pythons if has(python, package)), None)
    if python is None:
        print(f"{script}: did not run, {package} is not installed")
        continue
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        made = subprocess.run([arguments.bin, "convert", *[str(out) if flag == "OUT" else flag for flag in flags], str(RECORDING)],
                              stdout=subprocess.PIPE, check=True)
        if "OUT" not in flags:
            out.write_bytes(made.stdout)
        ran = subprocess.run([python, str(HERE / script), str(out)], capture_output=True, text=True, cwd=folder)
    if ran.returncode == 0 and words in ran.stdout:
        passed += 1
        print(f"{script}: ok")
    else:
        failed += 1
        print(f"{script}: FAILED\n{ran.stdout[-1000:]}{ran.stderr[-2000:]}")
print(f"{passed} passed, {failed} failed")
sys.exit(bool(failed))
