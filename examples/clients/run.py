"""Runs the commands of each recipe's README against a spanbridge of its own and a scripted model: see README.md."""
import argparse, contextlib, http.server, json, os, pathlib, re, shutil, socket, subprocess, sys, tempfile, threading, time, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tests/record"))
import model_server  # noqa: E402

QUESTION = "What is the weather in Paris and Tokyo?"
ANSWER = "Answer: Paris: 18C sunny; Tokyo: 18C sunny"


class Program:
    """A coding agent: one of its own tools reads the README of its recipe."""

    def __init__(self, tool, arguments, megabytes, home):
        self.tool, self.arguments, self.megabytes, self.home = tool, arguments, megabytes, home


# `home` is what a user has who has signed in: here, the scripted model.
PROGRAMS = {
    "claude-code": Program("Read", {"file_path": "FOLDER/README.md"}, 380, {}),
    "codex": Program("exec_command", {"cmd": "cat README.md"}, 400, {
        ".codex/config.toml": 'model = "gpt-5.1"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\n'
                              'base_url = "MODEL/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'}),
    "gemini-cli": Program("read_file", {"file_path": "README.md"}, 100, {
        ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'}),
}


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        api = model_server.api_of(self.path)
        kind, text = "application/json", "{}"
        if api:
            turn = model_server.Turn(api, model_server.request_body(self.path, json.loads(body)))
            kind, text = model_server.answer(turn)
        self.send_response(200 if api else 404)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def serving(program, directory):
    ports = {4317: free_port(), 4318: free_port(), 4319: free_port()}
    address = {port: f"127.0.0.1:{own}" for port, own in ports.items()}
    log = open(directory / "serve.log", "w")
    server = subprocess.Popen([program, "serve", "--data-dir", directory / "data", "--otlp-grpc", address[4317],
                               "--otlp-http", address[4318], "--http", address[4319]], stdout=log, stderr=log)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://{address[4319]}/readyz").close()
                break
            time.sleep(0.1)
        else:
            raise SystemExit("the server did not start: " + (directory / "serve.log").read_text())
        yield ports
    finally:
        server.terminate()
        server.wait()


def commands(folder):
    """The two `sh` blocks of a README: what installs, what runs."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (folder / "README.md").read_text(), re.M | re.S)
    assert len(blocks) == 2, f"{folder.name}/README.md has {len(blocks)} blocks"
    return blocks


def sh(text, folder, env):
    done = subprocess.run(["sh", "-euc", text], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    assert done.returncode == 0, f"exit status {done.returncode}:\n{text}\n{done.stdout[-3000:]}"
    return done.stdout


def prepared(folder, install, place):
    """A copy of the folder with the packages of its first block; kept until the block changes."""
    own = place / folder.name
    made_from = own / "made-from"
    if not made_from.exists() or made_from.read_text() != install:
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        env = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", npm_config_prefix=str(own))
        if "pip install" in install:
            subprocess.run([sys.executable, "-m", "venv", own / "venv"], check=True)
            env["PATH"] = f"{own / 'venv/bin'}:{env['PATH']}"
        sh(install, own, env)
        made_from.write_text(install)
    for file in folder.iterdir():
        shutil.copy(file, own)
    return own


def lacks(folder, large):
    """Why a recipe does not run here."""
    tool = "npm" if "npm install" in commands(folder)[0] else "python3"
    if not shutil.which(tool):
        return f"there is no {tool}"
    client = PROGRAMS.get(folder.name)
    if client and client.megabytes > 150 and not large:
        return f"it takes {client.megabytes} MB; --large installs it"


def run(program, folder, place, model_port):
    install, agent = commands(folder)
    client = PROGRAMS.get(folder.name)
    own = prepared(folder, install, place).resolve()
    # Not below /tmp: Codex refuses to put its helpers there.
    with tempfile.TemporaryDirectory(dir=own) as directory, serving(program, pathlib.Path(directory)) as ports:
        for port, test_port in ports.items():
            agent = agent.replace(f"127.0.0.1:{port}", f"127.0.0.1:{test_port}")
        env = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "TRACELOOP_"))}
        model = f"http://127.0.0.1:{model_port}"
        env |= {"PATH": f"{own / 'venv/bin'}:{own / 'bin'}:{env['PATH']}"}
        env |= {f"{name}_API_KEY": "none" for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
        env |= {"OPENAI_BASE_URL": f"{model}/v1", "ANTHROPIC_BASE_URL": model, "GOOGLE_GEMINI_BASE_URL": model}
        server = f"http://127.0.0.1:{ports[4319]}"
        if not client:
            said = sh(agent, own, env)
            assert ANSWER in said, said[-2000:]
            return checked(program, server)
        env |= {"HOME": directory, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        for name, text in client.home.items():
            (pathlib.Path(directory) / name).parent.mkdir()
            (pathlib.Path(directory) / name).write_text(text.replace("MODEL", model))
        arguments = {key: value.replace("FOLDER", str(own)) for key, value in client.arguments.items()}
        model_server.WANTED.append((client.tool, arguments))
        try:
            said = sh(agent, own, env)
        finally:
            model_server.WANTED.pop()
        assert "Answer: " in said and "npm install" in said, said[-2000:]
        return checked_program(program, server, client.tool, arguments)


def checked(program, server):
    """The run is one trace, and its documents contain what the agent did."""
    def documents(kind):
        lines = subprocess.run([program, "export", "--to", kind, "--server", server], check=True, stdout=subprocess.PIPE, text=True).stdout
        return [json.loads(line) for line in lines.splitlines()]

    for _ in range(100):
        found = documents("contextforge")
        if found and any(step["step_type"] == "final_output" for step in found[0]["steps"]) or len(found) > 1:
            break
        time.sleep(0.1)
    assert len(found) == 1, f"{len(found)} traces, not 1"
    steps = found[0]["steps"]
    calls = [step for step in steps if step["step_type"] == "llm_call"]
    tools = [(step["tool_name"], step["arguments"], "18C sunny" in str(step["result"])) for step in steps if step["step_type"] == "tool_call"]
    assert len(calls) == 2, f"{len(calls)} model calls, not 2"
    assert sorted(tools, key=str) == [("get_weather", {"city": city}, True) for city in ("Paris", "Tokyo")], tools
    [row] = documents("messages")
    words = [(message["role"], message.get("content")) for message in row["messages"]]
    assert ("user", QUESTION) in words and words[-1] == ("assistant", ANSWER), words
    return f"1 trace, {len(calls)} model calls, {len(tools)} tool calls"


def checked_program(program, server, tool, arguments):
    """The runs are one session, and its documents contain what the agent did."""
    def ndjson(*command):
        lines = subprocess.run([program, *command, "--server", server], check=True, stdout=subprocess.PIPE, text=True).stdout
        return [json.loads(line) for line in lines.splitlines()]

    for _ in range(100):
        runs = [trace for trace in ndjson("ls", "--json", "-n", "0") if trace["agent_work"]]
        if sum(run["model_calls"] for run in runs) >= 2:
            break
        time.sleep(0.1)
    [session] = {run["session"] for run in runs}
    steps = [step for document in ndjson("export", "--to", "contextforge", "--session", session) for step in document["steps"]]
    calls = [step for step in steps if step["step_type"] == "llm_call"]
    assert len(calls) == 2, f"{len(calls)} model calls, not 2"
    assert all(step.get("tokens_in") for step in calls), "model calls without tokens"
    [used] = [step for step in steps if step["step_type"] == "tool_call"]
    assert (used["tool_name"], used["arguments"]) == (tool, arguments), used
    assert "npm install" in str(used["result"]), used
    asked = [step["content"] for step in steps if step["step_type"] == "user_input"]
    assert asked and all("What is in README.md?" in text for text in asked), asked
    return f"1 session, {len(runs)} trace{'s' * (len(runs) > 1)}, {len(calls)} model calls, 1 tool call"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=str(TOP / "target/release/spanbridge"))
    parser.add_argument("--venvs", default=str(TOP / ".venv-recipes"), help="where packages are installed")
    parser.add_argument("--prepare", action="store_true", help="only install the packages")
    parser.add_argument("--large", action="store_true", help="install programs of more than 150 MB too")
    parser.add_argument("folders", nargs="*")
    asked = parser.parse_args()
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    failed = 0
    for folder in sorted(HERE / name for name in asked.folders) or sorted(file.parent for file in HERE.glob("*/README.md")):
        place = pathlib.Path(asked.venvs)
        try:
            if why := lacks(folder, asked.large):
                told = f"did not run: {why}"
            elif asked.prepare:
                told = f"installed in {prepared(folder, commands(folder)[0], place)}"
            else:
                told = run(str(pathlib.Path(asked.bin).resolve()), folder, place, model.server_address[1])
        except (AssertionError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            told = f"FAILED: {error}"
        print(f"{folder.name}: {told}", flush=True)
    return bool(failed)


sys.exit(main())
