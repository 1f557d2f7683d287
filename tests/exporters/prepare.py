"""Makes the program of each language: installs what it pins, builds it. Everything goes below `target/exporters`."""
import os, re, shutil, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(os.path.dirname(os.path.dirname(HERE)), "target", "exporters")


class DidNotRun(Exception):
    """What is missing here."""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise DidNotRun(f"no {tool}")


def source(*parts):
    return os.path.join(HERE, *parts)


def made(*parts):
    path = os.path.join(TARGET, *parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def run(*command, cwd=None, **environment):
    done = subprocess.run(command, cwd=cwd, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-2000:]}")


def stale(stamp, *files):
    """Whether the stamp was made from other files; the caller makes it anew with `stamped`."""
    try:
        return open(stamp, "rb").read() != b"".join(open(file, "rb").read() for file in files)
    except FileNotFoundError:
        return True


def stamped(stamp, *files):
    with open(stamp, "wb") as out:
        out.write(b"".join(open(file, "rb").read() for file in files))


def python():
    folder, pins = made("python"), source("python", "requirements.txt")
    if stale(f"{folder}/stamp", pins):
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", folder)
        run(f"{folder}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", pins)
        stamped(f"{folder}/stamp", pins)
    return [f"{folder}/bin/python", source("python", "emit.py")]


def javascript():
    need("node", "npm")
    folder, files = made("javascript"), [source("javascript", name) for name in ("package.json", "emit.js")]
    if stale(f"{folder}/stamp", *files):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for file in files:
            shutil.copy(file, folder)
        run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder)
        stamped(f"{folder}/stamp", *files)
    return ["node", f"{folder}/emit.js"]


def go():
    need("go")
    program = made("go")
    run("go", "build", "-o", program, ".", cwd=source("go"))
    return [program]


def java():
    need("java", "javac", "mvn")
    folder, files = made("java"), [source("java", name) for name in ("pom.xml", "Emit.java")]
    if stale(f"{folder}/stamp", *files):
        shutil.rmtree(folder, ignore_errors=True)
        jars = f"-DoutputDirectory={folder}/jars"
        run("mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", jars, cwd=source("java"))
        run("javac", "-encoding", "UTF-8", "-d", folder, "-cp", f"{folder}/jars/*", files[1])
        stamped(f"{folder}/stamp", *files)
    return ["java", "-Dstdout.encoding=UTF-8", "-cp", f"{folder}:{folder}/jars/*", "Emit"]


def rust():
    need("cargo")
    run("cargo", "build", "--quiet", "--locked", cwd=source("rust"), CARGO_TARGET_DIR=made("rust"))
    return [made("rust", "debug", "emit")]


def collector():
    need("go")
    program = made("collector")
    run("go", "build", "-o", program, ".", cwd=source("collector"))
    return [sys.executable, source("collector", "emit.py"), program]


PROGRAMS = {"python": python, "javascript": javascript, "go": go, "java": java, "rust": rust, "collector": collector}

PINS = {
    "python": ("requirements.txt", r"(opentelemetry-exporter-otlp-proto-(?:grpc|http))==(\S+)"),
    "javascript": ("package.json", r"@opentelemetry/(exporter-trace-otlp-\w+)\": \"(\S+)\""),
    "go": ("go.mod", r"exporters/otlp/\w+/(\w+) v(\S+)"),
    "java": ("pom.xml", r"(opentelemetry-exporter-otlp)</artifactId>\s*<version>(\S+)<"),
    "rust": ("Cargo.toml", r"(opentelemetry-otlp) = \{ version = \"=(\S+)\""),
    "collector": ("go.mod", r"exporter/(otlp\w*exporter) v(\S+)"),
}


def versions(language):
    """The exporters and their versions, as they are pinned."""
    name, pattern = PINS[language]
    return ", ".join(" ".join(pair) for pair in re.findall(pattern, open(source(language, name)).read()))
