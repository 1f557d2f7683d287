//! An OTLP/HTTP endpoint.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "not every test uses all of it")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use spanbridge::otlp;
use spanbridge::span::Span;

pub struct Request {
    pub head: String,
    pub spans: Vec<Span>,
}

/// Its address, and what it gets.
pub fn receiver() -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (send, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let send = send.clone();
            std::thread::spawn(move || while serve(&stream).is_some_and(|request| send.send(request).is_ok()) {});
        }
    });
    (address, requests)
}

fn serve(mut stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
        head.push_str(&line);
        head.push('\n');
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if head.contains("content-encoding: gzip") {
        let mut open = Vec::new();
        flate2::read::GzDecoder::new(body.as_slice()).read_to_end(&mut open).ok()?;
        body = open;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    let spans = if head.contains("application/json") {
        spanbridge::span::json::traces(&body).unwrap().items
    } else {
        otlp::decode::traces(&body).unwrap().items
    };
    Some(Request { head, spans })
}
