#!/usr/bin/env python3
"""Loads the expected documents of hand-made cases in the real packages.

usage: check_goldens.py [--formats FORMAT,...] CASE_DIR...      run with the Python that has requirements.txt

Formats whose package is in requirements-evals.txt are skipped there: run them with that environment, and with --formats.

Every `<trace id>.<format>.json` must be accepted; a case that shows what a package refuses says so in `refused.json`:
{"<trace id>.<format>.json": "a part of the refusal"}, and then the package must refuse it with these words."""
import collections, json, os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runner import FORMATS, missing, verdicts

def main(folders):
    formats = FORMATS
    if folders[:1] == ["--formats"]:
        formats, folders = folders[1].split(","), folders[2:]
    files, refusals = collections.defaultdict(list), {}
    for folder in folders:
        names = sorted(os.listdir(folder))
        if "refused.json" in names:
            with open(os.path.join(folder, "refused.json"), encoding="utf-8") as f:
                for name, words in json.load(f).items():
                    if name.split(".")[-2] not in formats:
                        continue
                    refusals[os.path.join(folder, name)] = words
        for name in names:
            for fmt in formats:
                if name.endswith(f".{fmt}.json"):
                    files[fmt].append(os.path.join(folder, name))
    bad = seen = 0
    for fmt in formats:
        if package := missing(fmt):
            print(f"{fmt}: {len(files[fmt])} documents not loaded, {package} is not installed")
            continue
        for path, ok, message in verdicts(fmt, files[fmt]):
            seen += 1
            words = refusals.pop(path, None)
            if words is None and ok or words is not None and not ok and words in message:
                continue
            bad += 1
            print(f"{path}: {message}" if words is None else f"{path}: expected a refusal with {words!r}, got: {message}")
    for path in refusals:
        of = os.path.basename(path).split(".")[-2]
        if of not in formats or missing(of):
            continue
        bad += 1
        print(f"{path}: named in refused.json, but there is no such document")
    print(f"{seen} documents in {len(folders)} cases, {bad} wrong")
    return 1 if bad or not seen else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
