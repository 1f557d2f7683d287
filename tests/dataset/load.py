"""Loads a data set as trainers do, and compares it with its manifest: see README.md. usage: load.py DIRECTORY"""
import json, os, pathlib, sys, tempfile

cache = tempfile.TemporaryDirectory()
os.environ.update(HF_HOME=cache.name, HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
try:
    import datasets
except ImportError:
    print("did not run: there is no Python package `datasets`")
    sys.exit(0)


def without_nulls(value):
    """Tables give every message every field."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


def main():
    directory = pathlib.Path(sys.argv[1])
    manifest = json.loads((directory / "manifest.json").read_text())
    lines = {}
    for side, told in manifest["splits"].items():
        for entry in told.get("files", []):
            path = directory / entry["file"]
            kind = "json" if path.suffix == ".jsonl" else "parquet"
            rows = datasets.load_dataset(kind, data_files={side: str(path)}, split=side)
            assert len(rows) == entry["rows"] == told["documents"], f"{path.name}: {len(rows)} rows"
            for row in rows:
                assert row["messages"][-1]["role"] == "assistant", f"{path.name}: the last message is not the assistant's"
            if kind == "json":
                lines[side] = [json.loads(line) for line in path.read_text().splitlines()]
            elif side in lines:
                assert [without_nulls(row) for row in rows] == [without_nulls(row) for row in lines[side]], f"{path.name} has other rows"
            print(f"{path.name}: {len(rows)} rows with {', '.join(rows.features)}")
    # By the directory alone: the sides are told by the files' names, the manifest is none of them.
    if not list(directory.glob("*.parquet")):
        loaded = datasets.load_dataset(str(directory))
        assert {side: len(rows) for side, rows in loaded.items()} == {side: len(rows) for side, rows in lines.items()}, loaded
        # A card declares the types of all columns, so no version takes them from the first rows alone.
        if (directory / "README.md").exists():
            found = {side: [without_nulls(row) for row in rows] for side, rows in loaded.items()}
            assert found == {side: [without_nulls(row) for row in rows] for side, rows in lines.items()}, "other rows"
            print(f"README.md: {', '.join(loaded)}")


main()
