"""Whether the licence of every dependency is one of those that deny.toml allows. Reads `cargo metadata`; needs no cargo-deny."""
import json, pathlib, re, subprocess, sys, tomllib

TOP = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = set(tomllib.loads((TOP / "deny.toml").read_text())["licenses"]["allow"])


def holds(expression):
    """An SPDX expression of names, AND, OR and parentheses; `/` is an old way to write OR. WITH adds a permission."""
    words = re.findall(r"[()]|[^\s()]+", re.sub(r"\s+WITH\s+\S+", "", expression.replace("/", " OR ")))

    def alternatives():
        found = conjunction()
        while words[:1] == ["OR"]:
            words.pop(0)
            found = conjunction() or found
        return found

    def conjunction():
        found = term()
        while words[:1] == ["AND"]:
            words.pop(0)
            found = term() and found
        return found

    def term():
        word = words.pop(0)
        if word != "(":
            return word in ALLOWED
        found = alternatives()
        words.pop(0)
        return found

    found = alternatives()
    assert not words, f"cannot read {expression!r}"
    return found


metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"], cwd=TOP))
packages = [package for package in metadata["packages"] if package["source"]]
bad = [package for package in packages if not package["license"] or not holds(package["license"])]
for package in bad:
    print(f"{package['name']} {package['version']}: {package['license'] or 'no licence'}")
print(f"{len(packages)} dependencies, {len(bad)} with a licence that deny.toml does not allow")
sys.exit(bool(bad))
