//! Clients that send what no client library would: HTTP/1.1 by hand, HTTP/2 with prior knowledge frame by frame.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;

/// What came back. Header names are in lower case; trailers are apart.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) trailers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

fn find<'a>(list: &'a [(String, String)], name: &str) -> Option<&'a str> {
    list.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// gRPC's metadata: in the trailers, or in the headers of an answer that has nothing else.
    pub(crate) fn metadata(&self, name: &str) -> Option<&str> {
        find(&self.trailers, name).or_else(|| find(&self.headers, name))
    }
}

pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("sets");
    stream
}

/// One request on a connection of its own.
pub(crate) fn http1(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !headers
        .iter()
        .any(|(name, _)| matches!(*name, "content-length" | "transfer-encoding"))
    {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    let mut request = head.into_bytes();
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(body);
    let raw = raw(address, &request);
    parse(&raw).unwrap_or_else(|| panic!("no HTTP answer: {:?}", String::from_utf8_lossy(&raw)))
}

/// Any bytes, then all that comes until the other side closes.
pub(crate) fn raw(address: &str, request: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    // The other side may close before it has read all.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

pub(crate) fn parse(raw: &[u8]) -> Option<Answer> {
    let end = raw.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(raw.get(..end)?).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect::<Vec<_>>();
    let mut body = raw.get(end + 4..)?.to_vec();
    if find(&headers, "transfer-encoding").is_some_and(|coding| coding == "chunked") {
        body = unchunked(&body)?;
    }
    let length = find(&headers, "content-length").and_then(|length| length.parse::<usize>().ok());
    assert!(
        length.is_none_or(|length| length == body.len()),
        "content-length {length:?}: {head}"
    );
    Some(Answer {
        status,
        headers,
        trailers: Vec::new(),
        body,
    })
}

/// The body in chunks (RFC 9112, section 7.1); `None` if the last one is missing.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|bytes| bytes == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(rest.get(..line)?).ok()?, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(line + 2..line + 2 + size)?);
        rest = rest.get(line + 4 + size..)?;
    }
}

/// One request over HTTP/2 with prior knowledge, its body in frames of 16 KiB.
pub(crate) fn http2(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let whole = exchange(address, method, path, headers, body);
        tokio::time::timeout(Duration::from_secs(60), whole)
            .await
            .expect("in time")
            .expect("an answer")
    })
}

/// A client of a connection of its own.
pub(crate) async fn h2_client(address: &str) -> h2::client::SendRequest<Bytes> {
    let stream = tokio::net::TcpStream::connect(address).await.expect("connects");
    let (client, connection) = h2::client::handshake(stream).await.expect("shakes hands");
    tokio::spawn(async move {
        let _ = connection.await;
    });
    client.ready().await.expect("ready")
}

pub(crate) fn h2_request(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> hyper::http::Request<()> {
    let mut request = hyper::http::Request::builder()
        .method(method)
        .uri(format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request")
}

async fn exchange(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer, h2::Error> {
    let mut client = h2_client(address).await;
    let request = h2_request(address, method, path, headers);
    let (response, mut sender) = client.send_request(request, body.is_empty())?;
    let body = body.to_vec();
    let send = tokio::spawn(async move {
        let mut chunks = body.chunks(16 << 10).peekable();
        while let Some(chunk) = chunks.next() {
            sender.reserve_capacity(chunk.len());
            while sender.capacity() < chunk.len() {
                if std::future::poll_fn(|context| sender.poll_capacity(context))
                    .await
                    .is_none_or(|got| got.is_err())
                {
                    return;
                }
            }
            if sender.send_data(Bytes::copy_from_slice(chunk), chunks.peek().is_none()).is_err() {
                return;
            }
        }
    });
    let response = response.await?;
    let mut answer = Answer {
        status: response.status().as_u16(),
        headers: list(response.headers()),
        ..Answer::default()
    };
    let mut received = response.into_body();
    while let Some(data) = received.data().await {
        let data = data?;
        let _ = received.flow_control().release_capacity(data.len());
        answer.body.extend_from_slice(&data);
    }
    if let Some(trailers) = received.trailers().await? {
        answer.trailers = list(&trailers);
    }
    send.abort();
    Ok(answer)
}

pub(crate) fn list(headers: &hyper::http::HeaderMap) -> Vec<(String, String)> {
    let text = |value: &hyper::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect()
}
