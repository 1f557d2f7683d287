"""Does what the README says, from top to bottom, in an empty home: see README.md. usage: run.py [--bin PROGRAM]"""
import argparse, fcntl, json, os, pathlib, re, shutil, socket, struct, subprocess, sys, tempfile, time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
README = (TOP / "README.md").read_text()
PORTS = (4317, 4318, 4319, 14317, 14318)
# Commands that this does not run, and why.
ELSEWHERE = {
    r"cargo run --release -- serve": "the program that is tested was built already",
    r"cargo test": "a step of its own in .ci/run",
    r"cargo install --path \.": "a release build takes minutes; SPANBRIDGE_FULL=1 .ci/run does one",
    r"OTEL_EXPORTER_OTLP_ENDPOINT=https://HOST": "HOST and TOKEN are the reader's; tests/clients sends with a token",
}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def commands():
    """The lines of all `sh` blocks without their comments."""
    lines = "".join(blocks("sh")).splitlines()
    return [command for line in lines if (command := re.sub(r"\s+#.*", "", line).strip())]


class Reader:
    """Someone who has the clone, an empty home, and the program on the path."""

    def __init__(self, program, folder):
        self.folder, self.home = folder, folder / "home"
        (folder / "bin").mkdir()
        self.home.mkdir()
        (folder / "bin/spanbridge").symlink_to(program)
        for name in ("tests", "examples"):
            (folder / name).symlink_to(TOP / name)
        kept = {key: os.environ[key] for key in ("LANG", "CARGO_HOME", "RUSTUP_HOME") if key in os.environ}
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.env = kept | {"HOME": str(self.home), "PATH": path}
        self.server = None

    def sh(self, command):
        done = subprocess.run(["sh", "-euc", command], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120)
        assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr or done.stdout}"
        return done.stdout

    def serve(self, command):
        """Starts a server, in place of the one before."""
        self.stop()
        log = open(self.folder / "serve.log", "w")
        self.server = subprocess.Popen(["sh", "-euc", "exec " + command], cwd=self.folder, env=self.env, stdout=log, stderr=log)
        for _ in range(200):
            assert self.server.poll() is None, "it ended: " + (self.folder / "serve.log").read_text()
            if "spanbridge: serving" in (self.folder / "serve.log").read_text():
                return
            time.sleep(0.05)
        raise AssertionError("it is not ready after 10 s: " + (self.folder / "serve.log").read_text())

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.wait()
        self.server = None

    # What must hold after each command.

    def quick_start(self, command):
        assert not list(self.home.iterdir()), "the home is not empty at first"
        self.serve(command)

    def forwards(self, command):
        self.serve(command)
        name = re.search(r"--forward (\w+)=", command)[1]
        assert name in self.sh("spanbridge forward status"), "the destination is not listed"

    def posts(self, command):
        assert self.sh(command) in ("", "{}"), "the answer is not empty"

    def lists(self, command):
        assert "ecbab609a0d1a27380b640e7db9cb6ba" in self.sh(command), "the trace is not listed"

    def shows(self, command):
        printed, [shown] = self.sh(command), blocks("text")
        # A last line of three dots stands for the rest.
        if shown.endswith("\n...\n"):
            shown = shown.removesuffix("...\n")
            printed = printed[:len(shown)]
        same(shown, printed)

    def looks(self, command):
        printed = self.sh(command)
        assert "get_weather" in printed or (self.folder / "out/run.html").exists(), f"nothing of the run is printed: {printed}"

    def lists_some(self, command):
        self.sh(command)

    def lists_the_run(self, command):
        printed = self.sh(command)
        assert "ecba" in printed, f"the run is not listed: {printed}"

    def compares(self, command):
        printed = self.sh(command)
        assert "steps the same" in printed, f"no steps are compared: {printed}"

    def follows(self, command):
        """It waits for more runs."""
        tail = subprocess.Popen(["sh", "-euc", "exec " + command], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            time.sleep(1)
            assert tail.poll() is None, "it ended"
        finally:
            tail.terminate()
            tail.wait()

    def exports(self, command):
        self.sh(command)
        [file] = (self.folder / "out").glob("*.contextforge.json")
        [shown] = blocks("json")
        shown = json.loads(shown)
        [step] = (step for step in json.loads(file.read_text())["steps"] if step["step_id"] == shown["step_id"])
        step.pop("metadata", None)
        same(shown, step)

    def converts(self, command):
        self.sh(command)
        assert list((self.folder / "out").glob("*.reflex.json")), "there is no document"
        assert (self.folder / "out/losses.ndjson").exists(), "there are no losses"

    def exports_a_set(self, command):
        self.sh(command)
        folder = self.folder / re.search(r"--output (\w+)/", command)[1]
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["runs"]["selected"] == 1, f"not the one run is selected: {manifest}"
        files = [file for side in manifest["splits"].values() for file in side.get("files", [])]
        assert sum(file["rows"] for file in files) == 1 or "--jsonl" not in command, f"not one row: {manifest}"
        for file in files:
            assert len((folder / file["file"]).read_text().splitlines()) == file["rows"]
        if "--redact" in command:
            [document] = folder.glob("*.atif.json")
            assert "Paris" not in document.read_text() and sum(manifest["redacted"].values()) > 0, manifest

    def serves_with_tls(self, command):
        if not shutil.which("openssl"):
            return "did not run: there is no openssl"
        # The token goes to standard output; its entry, up to an empty line, to standard error.
        entry = self.sh("spanbridge token new --name agents 2>&1")
        table = re.search(r"^\[\[.*?(?=^$|\Z|^\S+$)", entry, re.M | re.S)
        assert table, f"`token new` printed no entry for the configuration: {entry}"
        (self.folder / "spanbridge.toml").write_text(table[0])
        self.sh("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout key.pem -out cert.pem")
        self.serve(command)


CHECKS = {
    r"spanbridge serve$": Reader.quick_start,
    r"spanbridge serve .*--forward": Reader.forwards,
    r"curl .*/v1/traces": Reader.posts,
    r"spanbridge ls$": Reader.lists,
    r"spanbridge ls --status": Reader.lists_some,
    r"spanbridge ls --where": Reader.lists_the_run,
    r"spanbridge compare": Reader.compares,
    r"spanbridge tail": Reader.follows,
    r"spanbridge show ecba$": Reader.shows,
    r"spanbridge show ecba --": Reader.looks,
    r"spanbridge show tests/corpus/": Reader.looks,
    r"spanbridge export --to contextforge": Reader.exports,
    r"spanbridge export .*--where|spanbridge export .*--jsonl": Reader.exports_a_set,
    r"spanbridge convert": Reader.converts,
    r"spanbridge serve --config": Reader.serves_with_tls,
}


def same(shown, done):
    assert shown == done, f"the README shows\n{shown}\nbut it is\n{done}"


def rust_snippet(folder):
    """The Rust program of the README with its Cargo.toml, compiled as printed but for the path."""
    [manifest], [program] = blocks("toml"), [block for block in blocks("rust,no_run") if "fn main" in block]
    own = folder / "snippet"
    (own / "src").mkdir(parents=True)
    manifest = manifest.replace('path = "../spanbridge"', f'path = "{TOP}"')
    (own / "Cargo.toml").write_text(f'[package]\nname = "snippet"\nversion = "0.0.0"\nedition = "2024"\n\n{manifest}\n[workspace]\n')
    (own / "src/main.rs").write_text(program)
    shutil.copy(TOP / "Cargo.lock", own)
    env = dict(os.environ, CARGO_TARGET_DIR=str(TOP / "target/readme"))
    done = subprocess.run(["cargo", "check", "--quiet", "--offline"], cwd=own, env=env, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr


def own_network():
    """A network namespace with nothing but a loopback interface, so that the default ports are free; False if that is not allowed."""
    if os.environ.get("SPANBRIDGE_OWN_NETWORK"):
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING
        return True
    if shutil.which("unshare") and subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        os.execvpe("unshare", ["unshare", "-rn", sys.executable, *sys.argv], dict(os.environ, SPANBRIDGE_OWN_NETWORK="1"))
    return False


def is_taken(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=str(TOP / "target/release/spanbridge"))
    program = pathlib.Path(parser.parse_args().bin).resolve()
    if not own_network() and (taken := [port for port in PORTS if is_taken(port)]):
        print(f"the README did not run: port {taken[0]} is taken, and a network of its own is not allowed here")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        reader = Reader(program, folder)
        for command in [*commands(), None]:
            try:
                if command is None:
                    command = "the Rust program"
                    told = rust_snippet(folder)
                elif why := next((why for start, why in ELSEWHERE.items() if re.match(start, command)), None):
                    told = f"not run here: {why}"
                else:
                    check = next((check for start, check in reversed(CHECKS.items()) if re.match(start, command)), None)
                    assert check, "tests/readme does not know this command"
                    told = check(reader, command)
            except (AssertionError, ValueError, subprocess.SubprocessError) as error:
                failed += 1
                told = f"FAILED: {error}"
            print(f"{command}\n    {told or 'ok'}", flush=True)
        reader.stop()
    return bool(failed)


sys.exit(main())
