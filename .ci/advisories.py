"""Whether a locked version of a dependency has a known vulnerability. Reads every Cargo.lock of this checkout and RustSec's list:

    git clone --depth 1 https://github.com/RustSec/advisory-db FOLDER
    python3 .ci/advisories.py FOLDER

Unmaintained packages and other notices are printed, and are no failure. What IGNORED names does not concern this program: it gives the reason."""
import pathlib, re, subprocess, sys, tomllib

TOP = pathlib.Path(__file__).resolve().parent.parent
IGNORED = {}


def parts(version):
    """A version that compares as SemVer wants it: a pre-release comes before its release."""
    version = version.split("+")[0]
    release, _, pre = version.partition("-")
    numbers = [int(number) for number in release.split(".")] + [0, 0]
    words = [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in pre.split(".")] if pre else [(2, 0, "")]
    return numbers[:3], words


def next_of(text, caret):
    """The first version that `^text`, or `~text`, does not take."""
    given = [int(number) for number in re.split(r"[-+]", text)[0].split(".")]
    if caret:
        place = next((place for place, number in enumerate(given) if number), len(given) - 1)
    else:
        place = min(1, len(given) - 1)
    return given[:place] + [given[place] + 1] + [0] * (2 - place), [(-1, 0, "")]


def takes(requirement, version):
    """Whether a requirement, as `>= 1.2, < 1.4`, takes a version."""
    version = parts(version)
    for comparator in requirement.split(","):
        sign, text = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|~)?\s*(\S+)\s*", comparator).groups()
        if text == "*":
            continue
        low = parts(text)
        holds = {
            ">=": lambda: version >= low,
            ">": lambda: version > low,
            "<": lambda: version < low,
            "<=": lambda: version <= low,
            "=": lambda: version == low,
            "^": lambda: low <= version < next_of(text, True),
            "~": lambda: low <= version < next_of(text, False),
        }[sign or "^"]
        if not holds():
            return False
    return True


def advisories(folder):
    for path in sorted(pathlib.Path(folder, "crates").glob("*/*.md")):
        told = tomllib.loads(re.search(r"```toml\n(.*?)```", path.read_text(), re.S)[1])
        advisory, versions = told["advisory"], told.get("versions", {})
        if not advisory.get("withdrawn"):
            yield advisory, versions.get("patched", []) + versions.get("unaffected", [])


def locked():
    listed = subprocess.check_output(["git", "ls-files", "*Cargo.lock"], cwd=TOP, text=True).split()
    return {
        (package["name"], package["version"])
        for path in listed
        for package in tomllib.loads((TOP / path).read_text())["package"]
        if "source" in package
    }


def main(folder):
    versions = {}
    for name, version in locked():
        versions.setdefault(name, []).append(version)
    count, bad = 0, 0
    for advisory, unaffected in advisories(folder):
        count += 1
        for version in versions.get(advisory["package"], []):
            if any(takes(requirement, version) for requirement in unaffected):
                continue
            is_bad = "informational" not in advisory and advisory["id"] not in IGNORED
            bad += is_bad
            kind = advisory.get("informational", "vulnerability")
            print(f"{advisory['id']}: {advisory['package']} {version}: {kind}{IGNORED.get(advisory['id'], '')}")
    if not count:
        sys.exit(f"{folder} has no advisories")
    print(f"{sum(map(len, versions.values()))} locked versions, {count} advisories, {bad} of them concern one")
    sys.exit(bool(bad))


assert takes(">= 1.2.3", "1.2.3") and not takes(">= 1.2.3", "1.2.3-rc.1") and takes("^0.3.1", "0.3.9") and not takes("^0.3.1", "0.4.0")
assert takes(">= 0.5, < 0.6", "0.5.11") and not takes("< 1.10.0", "1.10.0") and takes("~1.2", "1.2.9") and not takes("^1.2", "2.0.0-a")
main(*sys.argv[1:])
