"""spanbridge export --to pydantic-evals --where 'status = ok' --output set/; python pydantic_evals_set.py set/"""
import pathlib, sys

from pydantic_evals import Dataset

path = pathlib.Path(sys.argv[1])
files = [path] if path.is_file() else sorted(path.rglob("*.pydantic-evals.yaml"))
for file in files:
    for case in Dataset[str, str, dict].from_file(file, fmt="yaml").cases:
        print(f"{case.name}: {case.inputs} -> {case.expected_output} {case.metadata['tools']}")
