#!/usr/bin/env python3
"""The documents of ../documents against the real packages: valid ones are accepted, each of invalid/ is refused.

usage: check_documents.py      run with the Python that has requirements.txt"""
import glob, os, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from runner import FORMATS, verdicts

def main():
    bad = seen = 0
    for fmt in FORMATS:
        base = os.path.join(os.path.dirname(HERE), "documents", fmt)
        for pattern, want in (("*.json", True), ("invalid/*.json", False)):
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
