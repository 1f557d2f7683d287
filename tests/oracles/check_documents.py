#!/usr/bin/env python3
"""The documents of ../documents against the real packages: valid ones are accepted, each of invalid/ is refused. Formats that
have no folder there are left out, and so are formats whose package this Python does not have.
With a folder: its documents `<name>.<format>.json` instead, of each format at least one, all of them valid.

usage: check_documents.py [--formats FORMAT,...] [FOLDER]      run with the Python that has requirements.txt"""
import glob, os, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from runner import FORMATS, missing, verdicts

def main(folders):
    bad = seen = 0
    formats = FORMATS
    if folders[:1] == ["--formats"]:
        formats, folders = folders[1].split(","), folders[2:]
    for fmt in formats:
        base, patterns = os.path.join(os.path.dirname(HERE), "documents", fmt), (("*.json", True), ("invalid/*.json", False))
        if folders:
            base, patterns = folders[0], ((f"*.{fmt}.json", True),)
        elif not os.path.isdir(base):
            continue
        for pattern, want in patterns:
            files = sorted(glob.glob(os.path.join(base, pattern)))
            if not files:
                bad += 1
                print(f"{base}/{pattern}: no documents")
            if package := missing(fmt):
                print(f"{fmt}: {len(files)} documents not loaded, {package} is not installed")
                continue
            for path, ok, message in verdicts(fmt, files):
                seen += 1
                if ok != want:
                    bad += 1
                    print(f"{path}: {'refused' if want else 'accepted'}: {message}")
    print(f"{seen} documents, {bad} wrong")
    return 1 if bad else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
