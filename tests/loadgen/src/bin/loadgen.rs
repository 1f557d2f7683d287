//! Replays generated OTLP trace exports and prints one JSON line. See README.md.

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::{Buf, Bytes, BytesMut};
use clap::Parser;
use loadgen::{
    Template,
    generate::{Generator, Size},
    mix, trace_id,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[derive(Parser, Clone)]
#[command(about = "OTLP trace load generator (LLM-agent spans)")]
struct Args {
    /// http://host:port of the receiver
    #[arg(long, default_value = "http://127.0.0.1:4318")]
    target: String,
    /// http (protobuf over HTTP/1.1) or grpc
    #[arg(long, default_value = "http")]
    proto: String,
    /// small (~1 KiB a span), typical (~4 KiB), fat (~32 KiB)
    #[arg(long, default_value = "typical")]
    size: String,
    /// Spans to send; the run ends here or at --duration
    #[arg(long, default_value_t = 100_000)]
    spans: u64,
    /// Stop after this many seconds, whatever --spans says
    #[arg(long)]
    duration: Option<f64>,
    #[arg(long, default_value_t = 4)]
    connections: usize,
    /// Compress the bodies with gzip or zstd (once, before the clock starts)
    #[arg(long, value_parser = ["gzip", "zstd"])]
    compression: Option<String>,
    /// Spans a request; a multiple of 20 keeps traces whole [small 500, typical 200, fat 100]
    #[arg(long)]
    batch: Option<usize>,
    /// Deal each trace's spans over this many consecutive requests of one connection
    #[arg(long, default_value_t = 1)]
    split: usize,
    /// Give every span a trace of its own
    #[arg(long)]
    lone: bool,
    /// Memory for the pregenerated bodies
    #[arg(long, default_value_t = 128)]
    pool_mib: usize,
    /// Replay the same ids instead of stamping new ones into every request
    /// (always so with --compression, where the pool is what is distinct)
    #[arg(long)]
    fixed_ids: bool,
    /// Open loop: spans a second over all connections; latency then counts from the due time
    #[arg(long)]
    rate: Option<f64>,
    /// Send this many spans first, unmeasured
    #[arg(long, default_value_t = 0)]
    warmup: u64,
    /// Report CPU seconds and peak resident memory of this process (the receiver)
    #[arg(long)]
    server_pid: Option<i32>,
    /// After the last request wait until the server's CPU is quiet, and count that CPU
    #[arg(long)]
    settle: bool,
    /// Append the hex trace ids of every acknowledged request to this file, one a line
    #[arg(long)]
    acked: Option<String>,
    /// HTTP path
    #[arg(long, default_value = "/v1/traces")]
    path: String,
    /// Write the bodies to DIR/NNNN.bin and exit (for wrk, h2load, fuzz seeds)
    #[arg(long)]
    dump: Option<String>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Tag copied into the output line
    #[arg(long, default_value = "")]
    label: String,
}

#[derive(Default)]
struct Stats {
    lat_us: Vec<u32>,
    spans: u64,
    bytes: u64,
    raw_bytes: u64,
    errors: u64,
    kinds: BTreeMap<String, u64>,
    acked: Vec<String>,
}

struct Shared {
    args: Args,
    host: String,
    batch: usize,
    seq: AtomicU64,
    total_requests: u64,
    start: Instant,
    deadline: Option<Instant>,
    stop: AtomicBool,
    nonce_base: u64,
    stats: Mutex<Stats>,
}

/// One connection's own bodies, in groups of `split`.
struct Pool {
    items: Vec<Item>,
    next: usize,
    group_nonce: u64,
    prefix: usize,
    stamp: bool,
    split: usize,
}
struct Item {
    tpl: Template,
    wire: Option<Bytes>,
    nonce: u64,
}

impl Pool {
    fn take(&mut self, fresh: u64) -> (Bytes, usize, u64, u32) {
        let at = self.next;
        self.next = (self.next + 1) % self.items.len();
        if at % self.split == 0 {
            self.group_nonce = fresh;
        }
        let item = &mut self.items[at];
        let body = match &item.wire {
            Some(b) => b.clone(),
            None if self.stamp => {
                item.nonce = self.group_nonce;
                item.tpl.stamp(self.prefix, item.nonce)
            }
            None => item.tpl.body.clone(),
        };
        (body, at, item.nonce, item.tpl.spans)
    }
}

impl Shared {
    /// The next request's number, or None when the run is over. In open loop waits for its due time.
    async fn claim(&self) -> Option<(u64, Instant)> {
        if self.stop.load(Relaxed) {
            return None;
        }
        let seq = self.seq.fetch_add(1, Relaxed);
        if seq >= self.total_requests || self.deadline.is_some_and(|d| Instant::now() >= d) {
            return None;
        }
        if let Some(rate) = self.args.rate {
            let due = self.start + Duration::from_secs_f64(seq as f64 * self.batch as f64 / rate);
            tokio::time::sleep_until(due.into()).await;
            return Some((seq, due));
        }
        Some((seq, Instant::now()))
    }
}

async fn connect(host: &str) -> std::io::Result<TcpStream> {
    let s = TcpStream::connect(host).await?;
    s.set_nodelay(true)?;
    Ok(s)
}

/// Reads one HTTP/1.1 response and returns its status.
async fn read_response(s: &mut TcpStream, buf: &mut BytesMut) -> std::io::Result<(u16, bool)> {
    let eof = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
    let head_end = loop {
        if let Some(p) = buf.windows(4).position(|w| w == b"\r\n\r\n") {
            break p + 4;
        }
        if s.read_buf(buf).await? == 0 {
            return Err(eof());
        }
    };
    let head = String::from_utf8_lossy(&buf[..head_end]).to_ascii_lowercase();
    let status: u16 = head.split(' ').nth(1).and_then(|v| v.parse().ok()).unwrap_or(0);
    let header = |name: &str| head.lines().find_map(|l| l.strip_prefix(name).map(|v| v.trim().to_owned()));
    let close = header("connection:").is_some_and(|v| v == "close");
    buf.advance(head_end);
    if let Some(len) = header("content-length:").and_then(|v| v.parse::<usize>().ok()) {
        while buf.len() < len {
            if s.read_buf(buf).await? == 0 {
                return Err(eof());
            }
        }
        buf.advance(len);
    } else if header("transfer-encoding:").is_some_and(|v| v.contains("chunked")) {
        while !buf.ends_with(b"0\r\n\r\n") {
            if s.read_buf(buf).await? == 0 {
                return Err(eof());
            }
        }
        buf.clear();
    }
    Ok((status, close))
}

async fn http_worker(sh: Arc<Shared>, mut pool: Pool) {
    let mut st = Stats::default();
    let mut conn: Option<TcpStream> = None;
    let mut rbuf = BytesMut::with_capacity(16 << 10);
    let mut failures = 0;
    while let Some((seq, t0)) = sh.claim().await {
        let (body, at, nonce, spans) = pool.take(mix(sh.nonce_base + seq));
        let encoding = sh.args.compression.as_ref().map(|name| format!("content-encoding: {name}\r\n")).unwrap_or_default();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/x-protobuf\r\n{encoding}content-length: {}\r\n\r\n",
            sh.args.path,
            sh.host,
            body.len()
        );
        let r: std::io::Result<(u16, bool)> = async {
            if conn.is_none() {
                rbuf.clear();
                conn = Some(connect(&sh.host).await?);
            }
            let s = conn.as_mut().unwrap();
            let mut out = Buf::chain(head.as_bytes(), &body[..]);
            s.write_all_buf(&mut out).await?;
            read_response(s, &mut rbuf).await
        }
        .await;
        let len = body.len();
        drop(body);
        match r {
            Ok((200..=299, close)) => {
                failures = 0;
                if close {
                    conn = None;
                }
                st.ok(t0, spans, len, &pool, at, nonce, sh.args.acked.is_some());
            }
            Ok((code, _)) => {
                conn = None;
                st.error(format!("http {code}"));
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            Err(e) => {
                conn = None;
                st.error(format!("io {:?}", e.kind()));
                failures += 1;
                if failures > 20 {
                    sh.stop.store(true, Relaxed);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
    sh.stats.lock().unwrap().merge(st);
}

async fn grpc_worker(sh: Arc<Shared>, mut pool: Pool) {
    let mut st = Stats::default();
    let mut client: Option<h2::client::SendRequest<Bytes>> = None;
    let mut failures = 0;
    let uri = format!("http://{}/opentelemetry.proto.collector.trace.v1.TraceService/Export", sh.host);
    while let Some((seq, t0)) = sh.claim().await {
        let (body, at, nonce, spans) = pool.take(mix(sh.nonce_base + seq));
        let len = body.len();
        let r: Result<String, Box<dyn std::error::Error + Send + Sync>> = async {
            if client.is_none() {
                let tcp = connect(&sh.host).await?;
                let (c, conn) = h2::client::Builder::new().max_send_buffer_size(8 << 20).handshake(tcp).await?;
                tokio::spawn(async move {
                    let _ = conn.await;
                });
                client = Some(c);
            }
            let mut c = client.take().unwrap().ready().await?;
            let mut req = http::Request::post(&uri).header("content-type", "application/grpc").header("te", "trailers");
            if let Some(name) = &sh.args.compression {
                req = req.header("grpc-encoding", name);
            }
            let (resp, mut send) = c.send_request(req.body(()).unwrap(), false)?;
            client = Some(c);
            send.send_data(body, true)?;
            let resp = resp.await?;
            if !resp.status().is_success() {
                return Ok(format!("http {}", resp.status().as_u16()));
            }
            let head = resp.headers().get("grpc-status").cloned();
            let mut body = resp.into_body();
            while let Some(chunk) = body.data().await {
                let n = chunk?.len();
                let _ = body.flow_control().release_capacity(n);
            }
            let trailers = body.trailers().await?;
            let status = trailers.as_ref().and_then(|t| t.get("grpc-status").cloned()).or(head);
            let code = status.map(|s| s.to_str().unwrap_or("?").to_owned()).unwrap_or("none".into());
            Ok(code)
        }
        .await;
        match r {
            Ok(code) if code == "0" => {
                failures = 0;
                st.ok(t0, spans, len, &pool, at, nonce, sh.args.acked.is_some());
            }
            Ok(code) => {
                st.error(format!("grpc {code}"));
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            Err(e) => {
                client = None;
                st.error(format!("io {e}"));
                failures += 1;
                if failures > 20 {
                    sh.stop.store(true, Relaxed);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
    sh.stats.lock().unwrap().merge(st);
}

impl Stats {
    #[allow(clippy::too_many_arguments)]
    fn ok(&mut self, t0: Instant, spans: u32, len: usize, pool: &Pool, at: usize, nonce: u64, keep: bool) {
        self.lat_us.push(t0.elapsed().as_micros().min(u32::MAX as u128) as u32);
        self.spans += spans as u64;
        self.bytes += len as u64;
        self.raw_bytes += (pool.items[at].tpl.body.len() - pool.prefix) as u64;
        if keep {
            for t in &pool.items[at].tpl.traces {
                let id: String = trace_id(nonce, *t).iter().map(|b| format!("{b:02x}")).collect();
                self.acked.push(id);
            }
        }
    }
    fn error(&mut self, kind: String) {
        self.errors += 1;
        *self.kinds.entry(kind).or_default() += 1;
    }
    fn merge(&mut self, o: Stats) {
        self.lat_us.extend(o.lat_us);
        self.spans += o.spans;
        self.bytes += o.bytes;
        self.raw_bytes += o.raw_bytes;
        self.errors += o.errors;
        self.acked.extend(o.acked);
        for (k, v) in o.kinds {
            *self.kinds.entry(k).or_default() += v;
        }
    }
}

fn frame(body: &[u8], compressed: bool, grpc: bool) -> Vec<u8> {
    let mut v = Vec::with_capacity(body.len() + 5);
    if grpc {
        v.push(compressed as u8);
        v.extend_from_slice(&(body.len() as u32).to_be_bytes());
    }
    v.extend_from_slice(body);
    v
}

/// Compressed with the level that clients use by default.
fn compressed(body: &[u8], compression: &str) -> Vec<u8> {
    if compression == "zstd" {
        return zstd::encode_all(body, 3).unwrap();
    }
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    e.write_all(body).unwrap();
    e.finish().unwrap()
}

fn pools(args: &Args, size: Size, batch: usize, grpc: bool, nonce_base: u64) -> Vec<Pool> {
    let per_body = size.bytes_per_span() * batch;
    let want = (args.pool_mib << 20) / per_body.max(1);
    let requests = (args.spans as usize).div_ceil(batch);
    let per_conn = (want.min(requests.max(1)) / args.connections).clamp(args.split, 4096).next_multiple_of(args.split);
    let mut g = Generator::new(size, args.seed);
    let prefix = if grpc { 5 } else { 0 };
    (0..args.connections)
        .map(|c| {
            let mut items = Vec::new();
            while items.len() < per_conn {
                let group = (c * per_conn + items.len()) as u64;
                for tpl in g.templates(batch, args.split) {
                    let mut tpl = if args.lone { tpl.lone() } else { tpl };
                    let mut nonce = 0;
                    let mut wire = None;
                    if let Some(compression) = &args.compression {
                        nonce = mix(nonce_base ^ (0x4000_0000_0000 + group));
                        wire = Some(Bytes::from(frame(&compressed(&tpl.stamp(0, nonce), compression), true, grpc)));
                    } else if args.fixed_ids {
                        nonce = mix(args.seed ^ (0x4000_0000_0000 + group));
                        tpl.stamp(0, nonce);
                    }
                    tpl.body = Bytes::from(frame(&tpl.body, false, grpc));
                    items.push(Item { tpl, wire, nonce });
                }
            }
            Pool { items, next: 0, group_nonce: 0, prefix, stamp: !args.fixed_ids && args.compression.is_none(), split: args.split }
        })
        .collect()
}

fn cpu_of(pid: i32) -> Option<f64> {
    let s = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let f: Vec<&str> = s[s.rfind(')')? + 2..].split(' ').collect();
    let ticks = f[11].parse::<f64>().ok()? + f[12].parse::<f64>().ok()?;
    Some(ticks / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64)
}
fn peak_rss_mib(pid: i32) -> Option<f64> {
    let s = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let l = s.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(l.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}
fn written(pid: i32) -> Option<f64> {
    let s = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    s.lines().find_map(|l| l.strip_prefix("write_bytes: ")?.parse::<f64>().ok())
}
fn own_cpu() -> f64 {
    let mut u: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut u) };
    let t = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    t(u.ru_utime) + t(u.ru_stime)
}

async fn drive(args: &Args, host: &str, batch: usize, spans: u64, nonce_base: u64, pools: Vec<Pool>) -> (Stats, f64) {
    let sh = Arc::new(Shared {
        args: args.clone(),
        host: host.to_owned(),
        batch,
        seq: AtomicU64::new(0),
        total_requests: spans.div_ceil(batch as u64),
        start: Instant::now(),
        deadline: args.duration.map(|d| Instant::now() + Duration::from_secs_f64(d)),
        stop: AtomicBool::new(false),
        nonce_base,
        stats: Mutex::default(),
    });
    let t = Instant::now();
    let tasks: Vec<_> = pools
        .into_iter()
        .map(|p| {
            let sh = sh.clone();
            if args.proto == "grpc" { tokio::spawn(grpc_worker(sh, p)) } else { tokio::spawn(http_worker(sh, p)) }
        })
        .collect();
    for t in tasks {
        t.await.expect("worker");
    }
    let wall = t.elapsed().as_secs_f64();
    let st = std::mem::take(&mut *sh.stats.lock().unwrap());
    (st, wall)
}

fn main() {
    let args = Args::parse();
    let size = Size::parse(&args.size).expect("--size small|typical|fat");
    assert!(matches!(args.proto.as_str(), "http" | "grpc"), "--proto http|grpc");
    let batch = args.batch.unwrap_or(size.default_batch());
    let grpc = args.proto == "grpc";
    let nonce_base = mix(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64);

    if let Some(dir) = &args.dump {
        std::fs::create_dir_all(dir).unwrap();
        let mut n = 0;
        for mut p in pools(&args, size, batch, grpc, nonce_base) {
            for i in 0..p.items.len() {
                let (body, ..) = p.take(mix(nonce_base + i as u64));
                std::fs::write(format!("{dir}/{n:04}.bin"), &body).unwrap();
                n += 1;
            }
        }
        println!("{n} bodies in {dir}");
        return;
    }

    let host = args.target.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if args.warmup > 0 {
        let p = pools(&args, size, batch, grpc, nonce_base ^ 1);
        rt.block_on(drive(&Args { rate: None, duration: None, acked: None, ..args.clone() }, &host, batch, args.warmup, nonce_base ^ 0xFFFF_0000, p));
    }
    let p = pools(&args, size, batch, grpc, nonce_base);
    let bodies: usize = p.iter().map(|p| p.items.len()).sum();
    if let Some(pid) = args.server_pid {
        let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
    let cpu0 = args.server_pid.and_then(cpu_of);
    let wr0 = args.server_pid.and_then(written);
    let own0 = own_cpu();
    let (mut st, wall) = rt.block_on(drive(&args, &host, batch, args.spans, nonce_base, p));
    let own = own_cpu() - own0;
    let mut settle = 0.0;
    if let (true, Some(pid)) = (args.settle, args.server_pid) {
        let t = Instant::now();
        let mut quiet_since = Instant::now();
        let mut last = cpu_of(pid).unwrap_or(0.0);
        while quiet_since.elapsed() < Duration::from_millis(1500) && t.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(250));
            let now = cpu_of(pid).unwrap_or(last);
            if now - last > 0.02 {
                quiet_since = Instant::now();
                settle = t.elapsed().as_secs_f64();
            }
            last = now;
        }
    }
    let cpu = args.server_pid.and_then(cpu_of).zip(cpu0).map(|(b, a)| b - a);

    st.lat_us.sort_unstable();
    let q = |p: f64| st.lat_us.get(((st.lat_us.len() as f64 * p) as usize).min(st.lat_us.len().saturating_sub(1))).map(|v| *v as f64 / 1000.0);
    let r = |v: f64| (v * 1000.0).round() / 1000.0;
    let mut out = serde_json::json!({
        "label": args.label, "proto": args.proto, "size": args.size, "compression": args.compression, "batch": batch, "split": args.split,
        "connections": args.connections, "bodies": bodies, "distinct_ids": !args.fixed_ids && args.compression.is_none(),
        "requests": st.lat_us.len(), "spans": st.spans, "wall_s": r(wall),
        "spans_per_s": (st.spans as f64 / wall).round(), "mb_per_s": r(st.bytes as f64 / 1e6 / wall),
        "raw_mb_per_s": r(st.raw_bytes as f64 / 1e6 / wall),
        "bytes_per_span": (st.raw_bytes as f64 / st.spans.max(1) as f64).round(),
        "p50_ms": q(0.5).map(r), "p99_ms": q(0.99).map(r), "max_ms": q(1.0).map(r),
        "errors": st.errors, "error_kinds": st.kinds,
        "client_cpu_s": r(own), "client_cpu_s_per_1m_spans": r(own * 1e6 / st.spans.max(1) as f64),
    });
    if let (Some(pid), Some(cpu)) = (args.server_pid, cpu) {
        out["server_cpu_s"] = r(cpu).into();
        out["server_cpu_s_per_1m_spans"] = r(cpu * 1e6 / st.spans.max(1) as f64).into();
        out["server_peak_rss_mib"] = peak_rss_mib(pid).map(r).into();
        out["server_written_mb"] = written(pid).zip(wr0).map(|(b, a)| r((b - a) / 1e6)).into();
        out["settle_s"] = r(settle).into();
    }
    println!("{out}");
    if let Some(path) = &args.acked {
        let mut f = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        f.write_all(st.acked.join("\n").as_bytes()).unwrap();
        f.write_all(b"\n").unwrap();
    }
}
