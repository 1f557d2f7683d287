"""A running `spanbridge serve`, and what stands between it and an exporter."""
import itertools, json, os, re, select, signal, socket, subprocess, tempfile, threading, time, urllib.error, urllib.request

# Below the ports that systems give to clients' connections: a port stays free while its bridge is away.
PORTS = itertools.cycle(range(20_000 + os.getpid() % 12_000, 32_000))


def is_free(port):
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    return list(itertools.islice(filter(is_free, PORTS), count))


def wait_until(what, holds, seconds=40):
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.03)
    return found


class Bridge:
    """May be started late, killed, and started again, on the same ports with the same data."""

    def __init__(self, program, *flags):
        self.folder = tempfile.TemporaryDirectory()
        self.grpc, self.http, self.api = free_ports(3)
        self.command = [program, "serve", "--data-dir", self.folder.name, "--otlp-grpc", f"127.0.0.1:{self.grpc}",
                        "--otlp-http", f"127.0.0.1:{self.http}", "--http", f"127.0.0.1:{self.api}", *flags]
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until("the bridge starts", self.answers)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def get(self, path):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.api}{path}", timeout=10).read().decode()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def answers(self):
        assert self.process.poll() is None, "the bridge has ended"
        try:
            return self.get("/healthz")
        except (urllib.error.URLError, ConnectionError):
            return None

    def trace(self, trace):
        text = self.get(f"/api/v1/traces/{trace}")
        return json.loads(text) if text else {}

    def metric(self, name):
        """The sum of a metric of the receiver over its labels, or the one sample that is named with them."""
        pattern = rf"^(?:otelcol|spanbridge)_receiver_{re.escape(name)}(?:\{{.*\}})? (\d+)$"
        return sum(int(number) for number in re.findall(pattern, self.get("/metrics"), re.M))

    def port(self, transport):
        return self.grpc if transport == "grpc" else self.http


class Overload:
    """Takes all room of a bridge with `--max-in-flight-bytes 100000`: a body of which the last bytes do not come."""

    def __init__(self, bridge):
        self.socket = socket.create_connection(("127.0.0.1", bridge.http))
        head = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\ncontent-length: 100000\r\n\r\n"
        self.socket.sendall(head + bytes(99_900))
        wait_until("the bridge is full", lambda: bridge.metric("in_flight_bytes") >= 99_900)

    def end(self):
        self.socket.close()


class LosesOneAnswer:
    """Hands bytes on, but breaks the connection over which the answer to the first stored spans would come."""

    def __init__(self, bridge, port):
        self.bridge, self.to, self.lost = bridge, port, False
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connection, args=(client,), daemon=True).start()

    def connection(self, client):
        server = socket.create_connection(("127.0.0.1", self.to))
        with client, server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    try:
                        data = ready.recv(1 << 16)
                        if not data or (ready is server and self.loses()):
                            return
                        (server if ready is client else client).sendall(data)
                    except OSError:
                        return

    def loses(self):
        with self.lock:
            if self.lost or not self.bridge.metric("accepted_spans"):
                return False
            self.lost = True
            return True

    def end(self):
        self.listener.close()
