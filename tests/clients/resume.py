#!/usr/bin/env python3
"""Claude Code and Codex go on with the session files that `--to claude-code` and `--to codex` write of a run of another agent.

    resume.py --bin PROGRAM [--clients DIR]

Installs the clients from npm into DIR, below which nothing is shared with those of this machine. A scripted server answers them; what it is
sent must have the whole conversation before the new question. Standard library only.
"""
import argparse, http.server, json, os, pathlib, subprocess, sys, tempfile, threading

CLIENTS = ["@anthropic-ai/claude-code@2.1.332", "@openai/codex@0.171.0"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "tests/corpus/oi-langchain-toolerror/001.traces.bin"
WORDS = ["What is the weather in Paris and Tokyo, and the time?", "Let me look that up.", "get_weather", "no such city: Tokyo", "Paris 14:05",
         "Answer: Paris: 18C sunny", "And in Rome?"]
ANSWER = "It rains in Rome."


class Model(http.server.BaseHTTPRequestHandler):
    """Answers Anthropic's Messages and OpenAI's Responses."""
    asked = []
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send("application/json", b'{"data":[],"models":[]}')

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if "/messages" in self.path and "count_tokens" not in self.path:
            events = self.message(json.loads(body))
        elif "/responses" in self.path:
            events = self.response()
        else:
            return self.send("application/json", b'{"input_tokens":10}')
        Model.asked.append(body.decode())
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.send("text/event-stream", text.encode())

    def message(self, request):
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model"), "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": usage}
        return [{"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 5}},
                {"type": "message_stop"}]

    def response(self):
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        return [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
                {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
                {"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": ANSWER},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response}]


def resumed(name, command, env, folder):
    Model.asked.clear()
    done = subprocess.run(command, cwd=folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    missing = [words for words in WORDS if not any(words in body for body in Model.asked)]
    if done.returncode or ANSWER not in done.stdout or missing:
        sys.exit(f"{name}: exit {done.returncode}, the request lacks {missing}\n{done.stdout}{done.stderr}")
    print(f"{name}: goes on with the run")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("--clients", default=str(ROOT / ".venv-npm-clients"))
    given = arguments.parse_args()
    programs = pathlib.Path(given.clients).resolve() / "node_modules/.bin"
    if not all((programs / name).exists() for name in ("claude", "codex")):
        os.makedirs(given.clients, exist_ok=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", given.clients, *CLIENTS], check=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home).resolve()
        folder = home / "project"
        folder.mkdir()
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        env = {"HOME": str(home), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

        def written(to, where):
            subprocess.run([given.bin, "convert", "--to", to, "--losses", "/dev/null", "--output", where, RUN], check=True, stderr=subprocess.DEVNULL)
            return next(where.glob("*.jsonl"))

        projects = home / ".claude/projects" / "".join(letter if letter.isalnum() else "-" for letter in str(folder))
        session = written("claude-code", projects).stem
        claude = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        resumed("Claude Code", [programs / "claude", "-p", "--resume", session, WORDS[-1]], {**env, **claude}, folder)

        thread = written("codex", home / ".codex/sessions/2026/11/21").stem[len("rollout-2026-11-21T10-59-14-"):]
        (home / ".codex/config.toml").write_text(f"""model = "gpt-5.1-codex"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
""")
        codex = [programs / "codex", "exec", "--skip-git-repo-check", "resume", thread, WORDS[-1]]
        resumed("Codex", codex, {**env, "SCRIPTED_KEY": "none"}, folder)


if __name__ == "__main__":
    main()
