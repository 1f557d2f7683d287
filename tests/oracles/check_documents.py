#!/usr/bin/env python3
"""The documents of ../documents against the real packages: valid ones are accepted, each of invalid/ is refused. Formats that
have no folder there are left out.
With a folder: its documents `<name>.<format>.json` instead, of each format at least one, all of them valid.

usage: check_documents.py [FOLDER]      run with the Python that has requirements.txt"""
import glob, os, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from runner import FORMATS, verdicts

def main():
    bad = seen = 0
    for fmt in FORMATS:
        base, patterns = os.path.join(os.path.dirname(HERE), "documents", fmt), (("*.json", True), ("invalid/*.json", False))
        if len(sys.argv) > 1:
            base, patterns = sys.argv[1], ((f"*.{fmt}.json", True),)
        elif not os.path.isdir(base):
            continue
        for pattern, want in patterns:
            files = sorted(glob.glob(os.path.join(base, pattern)))
            if not files:
                bad += 1
                print(f"{base}/{pattern}: no documents")
            for path, ok, message in verdicts(fmt, files):
                seen += 1
                if ok != want:
                    bad += 1
                    print(f"{path}: {'refused' if want else 'accepted'}: {message}")
    print(f"{seen} documents, {bad} wrong")
    return 1 if bad else 0

if __name__ == "__main__":
    sys.exit(main())
