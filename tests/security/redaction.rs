//! Redaction: what the rules find is gone from the disk, and nothing else is changed, in everything that was recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regex::Regex;
use spanbridge::otlp::{decode, encode};
use spanbridge::receiver::limits::{Encoding, inflate};
use spanbridge::redact::{Action, Owner, RuleText, Rules};
use spanbridge::span::{AnyValue, Attributes, LogRecord, Refused, Signal, Span};

use super::serving::{Serving, files, holds, span, trace_id};

/// Recorded requests, decompressed.
fn recorded(signal: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut found = Vec::new();
    for case in fs::read_dir(root).expect("a corpus").map(|entry| entry.expect("an entry").path()) {
        if !case.is_dir() {
            continue;
        }
        for path in fs::read_dir(case).expect("a case").map(|entry| entry.expect("an entry").path()) {
            if path.to_string_lossy().ends_with(&format!(".{signal}.bin")) {
                let bytes = fs::read(&path).expect("reads");
                let plain = match Encoding::of_magic(&bytes) {
                    Some(encoding) => inflate(&bytes, encoding, usize::MAX - 1).expect("decompresses"),
                    None => bytes,
                };
                // Some clients send JSON.
                if !plain.starts_with(b"{") {
                    found.push((path, plain));
                }
            }
        }
    }
    assert!(found.len() >= 30, "only {} requests", found.len());
    found
}

fn rule(key: Option<&str>, value: Option<&str>, action: Action, scope: &[Owner]) -> RuleText {
    RuleText {
        name: None,
        key: key.map(ToOwned::to_owned),
        value: value.map(ToOwned::to_owned),
        action,
        scope: scope.to_vec(),
    }
}

fn rules(texts: &[RuleText]) -> Rules {
    Rules::new(texts, Some("pepper")).expect("rules")
}

/// The same on decoded values, told in another way: what the rules are checked against.
struct Reference<'a> {
    text: &'a dyn Fn(&str) -> String,
    keep: &'a dyn Fn(&str) -> bool,
}

impl Reference<'_> {
    fn value(&self, value: &mut AnyValue) {
        match value {
            AnyValue::String(text) => *text = (self.text)(text),
            AnyValue::Bytes(bytes) => {
                if let Ok(text) = String::from_utf8(bytes.clone()) {
                    *bytes = (self.text)(&text).into_bytes();
                }
            }
            AnyValue::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            AnyValue::KvList(pairs) => self.pairs(pairs),
            _ => {}
        }
    }

    fn pairs(&self, pairs: &mut Vec<(String, AnyValue)>) {
        pairs.retain(|(key, _)| (self.keep)(key));
        pairs.iter_mut().for_each(|(_, value)| self.value(value));
    }

    fn attributes(&self, Attributes(pairs): &mut Attributes) {
        self.pairs(pairs);
    }

    fn span(&self, span: &mut Span) {
        self.attributes(&mut span.attributes);
        for text in [&mut span.name, &mut span.status.message, &mut span.trace_state] {
            *text = (self.text)(text);
        }
        for event in &mut span.events {
            event.name = (self.text)(&event.name);
            self.attributes(&mut event.attributes);
        }
        for link in &mut span.links {
            link.trace_state = (self.text)(&link.trace_state);
            self.attributes(&mut link.attributes);
        }
        self.around(&mut span.resource, &mut span.scope);
    }

    fn record(&self, record: &mut LogRecord) {
        self.attributes(&mut record.attributes);
        self.value(&mut record.body);
        record.event_name = (self.text)(&record.event_name);
        record.severity_text = (self.text)(&record.severity_text);
        self.around(&mut record.resource, &mut record.scope);
    }

    fn around(&self, resource: &mut Arc<spanbridge::span::Resource>, scope: &mut Arc<spanbridge::span::Scope>) {
        self.attributes(&mut Arc::make_mut(resource).attributes);
        let scope = Arc::make_mut(scope);
        self.attributes(&mut scope.attributes);
        scope.name = (self.text)(&scope.name);
        scope.version = (self.text)(&scope.version);
    }
}

fn agrees(texts: &[RuleText], reference: &Reference<'_>) -> usize {
    let rules = rules(texts);
    let mut changed = 0;
    for (path, bytes) in recorded("traces") {
        let mut expected = decode::traces(&bytes).expect("spans").items;
        expected.iter_mut().for_each(|span| reference.span(span));
        let after = rules.apply(&bytes, Signal::Traces).expect("a request");
        changed += usize::from(after.is_some());
        let have = decode::traces(after.as_deref().unwrap_or(&bytes)).expect("spans").items;
        assert_eq!(have, expected, "{}", path.display());
    }
    for (path, bytes) in recorded("logs") {
        let mut expected = decode::logs(&bytes).expect("records").items;
        expected.iter_mut().for_each(|record| reference.record(record));
        let after = rules.apply(&bytes, Signal::Logs).expect("a request");
        changed += usize::from(after.is_some());
        let have = decode::logs(after.as_deref().unwrap_or(&bytes)).expect("records").items;
        assert_eq!(have, expected, "{}", path.display());
    }
    changed
}

#[test]
fn in_all_recordings_the_rules_change_what_they_find_and_nothing_else() {
    let keep = |_: &str| true;
    let same = |text: &str| text.to_owned();
    let nothing = rule(None, Some("no such words anywhere 5481"), Action::Remove, &[]);
    assert_eq!(agrees(&[nothing], &Reference { text: &same, keep: &keep }), 0);

    let words = Regex::new("[Ww]eather|[A-Z]{4,}|sunny").expect("an expression");
    let masked = |text: &str| words.replace_all(text, "[redacted]").into_owned();
    let reference = Reference {
        text: &masked,
        keep: &keep,
    };
    assert!(agrees(&[rule(None, Some(words.as_str()), Action::Mask, &[])], &reference) > 100);

    let short = |key: &str| !(key.starts_with("llm.") || key == "content" || key.ends_with(".name"));
    let gone = [Some("llm.*"), Some("content"), Some("*.name")].map(|key| rule(key, None, Action::Remove, &[]));
    let names = ["a", "b", "c"];
    let gone: Vec<RuleText> = gone
        .into_iter()
        .zip(names)
        .map(|(rule, name)| RuleText {
            name: Some(name.to_owned()),
            ..rule
        })
        .collect();
    assert!(agrees(&gone, &Reference { text: &same, keep: &short }) > 100);
}

/// A request with one span.
fn one(attributes: &[(&str, AnyValue)]) -> Vec<u8> {
    let mut span = span(1, "name");
    span.attributes = attributes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    encode::traces(&[span])
}

fn applied(texts: &[RuleText], attributes: &[(&str, AnyValue)]) -> Vec<(String, AnyValue)> {
    let bytes = one(attributes);
    let after = rules(texts).apply(&bytes, Signal::Traces).expect("a request").unwrap_or(bytes);
    decode::traces(&after).expect("spans").items.remove(0).attributes.0
}

fn one_text(texts: &[RuleText], text: &str) -> String {
    applied(texts, &[("input.value", text.into())])[0]
        .1
        .as_str()
        .expect("text")
        .to_owned()
}

#[test]
fn actions_on_texts() {
    let digits = |action| [rule(None, Some("[0-9]{4,}"), action, &[])];
    assert_eq!(
        one_text(&digits(Action::Mask), "call 5551234 or 5559876"),
        "call [redacted] or [redacted]"
    );
    assert_eq!(one_text(&digits(Action::Remove), "call 5551234 now"), "call  now");
    let hashed = one_text(&digits(Action::Hash), "5551234 5551234 5559876");
    let parts: Vec<&str> = hashed.split(' ').collect();
    assert!(parts[0] == parts[1] && parts[1] != parts[2], "{hashed}");
    assert!(
        Regex::new("^\\[hmac:[0-9a-f]{16}\\]$").expect("an expression").is_match(parts[0]),
        "{hashed}"
    );
    let other = Rules::new(&digits(Action::Hash), Some("salt")).expect("rules");
    let bytes = one(&[("k", "5551234".into())]);
    let other = other.apply(&bytes, Signal::Traces).expect("a request").expect("changed");
    assert!(!holds(&other, parts[0]), "the key makes the hash");
}

#[test]
fn json_in_a_text_stays_json() {
    let card = [rule(None, Some("4[0-9]{15}"), Action::Mask, &[])];
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(&one_text(&card, text)).expect("JSON");
    assert_eq!(json(r#"{"note": "pay 4111111111111111"}"#)["note"], "pay [redacted]");
    assert_eq!(json(r#" [{"card": 4111111111111111, "n": 1.50}]"#)[0]["card"], "[redacted]");
    assert_eq!(one_text(&card, r#"{"a":  "4111111111111111"}"#), r#"{"a":  "[redacted]"}"#);
    assert_eq!(one_text(&card, "{no JSON 4111111111111111"), "{no JSON [redacted]");
    // What is found stands across two values.
    let across = [rule(None, Some(r#"5481,"b":77"#), Action::Mask, &[])];
    assert_eq!(one_text(&across, r#"{"a":5481,"b":77}"#), r#"{"a":"[redacted]","b":"[redacted]"}"#);
}

#[test]
fn no_escape_hides_what_a_rule_finds() {
    let words = [rule(
        None,
        Some(r"\bsk-[a-z0-9]+|ann@example|https://x/y|M\u{fc}ller"),
        Action::Mask,
        &[],
    )];
    for (text, expected) in [
        (r#"{"k": "\nsk-5481", "n" : 1.50}"#, r#"{"k": "\n[redacted]", "n" : 1.50}"#),
        (r#"["caf\u00e9 ann\u0040example"]"#, r#"["caf\u00e9 [redacted]"]"#),
        (r#"["https:\/\/x\/y"]"#, r#"["[redacted]"]"#),
        (r#"{"who":"M\u00fcller"}"#, r#"{"who":"[redacted]"}"#),
        (r#"{"x":"{\"y\":\"ann\\u0040example\"}"}"#, r#"{"x":"{\"y\":\"[redacted]\"}"}"#),
        (r#"cut off: {"k":"ann\u0040example and"#, r#"cut off: {"k":"[redacted] and"#),
    ] {
        assert_eq!(one_text(&words, text), expected, "{text}");
    }
    // Bytes that are text, and bytes of which a part is.
    let bytes = |bytes: &[u8]| applied(&words, &[("b", AnyValue::Bytes(bytes.to_vec()))])[0].1.clone();
    assert_eq!(bytes(br#"["ann\u0040example"]"#), AnyValue::Bytes(br#"["[redacted]"]"#.to_vec()));
    assert_eq!(
        bytes(b"\xff\xfe ann@example \x80"),
        AnyValue::Bytes(b"\xff\xfe [redacted] \x80".to_vec())
    );
    // A body of OTLP/JSON, which is read before it is looked into.
    let bridge = Serving::start("[[redact]]\nname = \"mail\"\nvalue = 'ann@example'\naction = \"mask\"\n");
    let body = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01010101010101010101010101010101","spanId":"0707070707070707",
        "name":"of ann\u0040example","attributes":[{"key":"in","value":{"stringValue":"{\"to\":\"ann\\u0040example\"}"}}]}]}]}]}"#;
    let sent = bridge.post("/v1/traces", &[("content-type", "application/json")], body.as_bytes());
    assert_eq!(sent.status, 200);
    let seen = bridge.get(&format!("/api/v1/traces/{}", trace_id(1)), None).text();
    assert!(
        seen.contains("of [redacted]") && seen.contains(r#"{\"to\":\"[redacted]\"}"#),
        "{seen}"
    );
}

#[test]
fn keys_are_found_in_any_case_where_the_rule_says_so() {
    let attributes = [("DB.Password", "x".into()), ("db.password", "y".into()), ("user", "z".into())];
    let keys = |key: &str| -> Vec<String> {
        let left = applied(&[rule(Some(key), None, Action::Remove, &[])], &attributes);
        left.into_iter().map(|(key, _)| key).collect()
    };
    assert_eq!(keys("(?i)*PASSWORD"), ["user"]);
    assert_eq!(keys("*password"), ["DB.Password", "user"]);
}

#[test]
fn references_to_entities_are_looked_into() {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::common::v1::EntityRef;
    use prost::Message as _;
    let mut request = ExportTraceServiceRequest::decode(one(&[]).as_slice()).expect("a request");
    let resource = request.resource_spans[0].resource.get_or_insert_default();
    resource.entity_refs.push(EntityRef {
        r#type: "host of ann@example".to_owned(),
        ..EntityRef::default()
    });
    let mail = rules(&[rule(None, Some("ann@example"), Action::Mask, &[Owner::Resource])]);
    let after = mail
        .apply(&request.encode_to_vec(), Signal::Traces)
        .expect("a request")
        .expect("changed");
    let after = ExportTraceServiceRequest::decode(after.as_slice()).expect("a request");
    let resource = after.resource_spans[0].resource.as_ref().expect("a resource");
    assert_eq!(resource.entity_refs[0].r#type, "host of [redacted]");
}

#[test]
fn keys_and_scopes_narrow_a_rule() {
    let pairs = AnyValue::KvList(vec![("password".to_owned(), "p".into()), ("user".to_owned(), "u 5481".into())]);
    let attributes = [
        ("db.password", "x".into()),
        ("tool", pairs),
        ("n", AnyValue::Int(5481)),
        ("t", "u 5481".into()),
    ];
    let key = |key: &str, action| [rule(Some(key), None, action, &[])];
    let left = applied(&key("*password", Action::Remove), &attributes);
    let keys: Vec<&str> = left.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["tool", "n", "t"]);
    assert_eq!(left[0].1, AnyValue::KvList(vec![("user".to_owned(), "u 5481".into())]));
    assert_eq!(applied(&key("?", Action::Mask), &attributes)[2].1, AnyValue::from("[redacted]"));
    assert_eq!(
        applied(&key("password", Action::Remove), &attributes).len(),
        4,
        "a key is matched whole"
    );
    // Both: the expression below such keys only.
    let both = [rule(Some("tool"), Some("[0-9]+"), Action::Mask, &[])];
    let left = applied(&both, &attributes);
    assert_eq!(left[1].1.to_json()["user"], "u [redacted]");
    assert_eq!(left[3].1, AnyValue::from("u 5481"));
    let elsewhere = [rule(
        None,
        Some("5481"),
        Action::Mask,
        &[Owner::Resource, Owner::Event, Owner::Body],
    )];
    assert_eq!(applied(&elsewhere, &attributes)[3].1, AnyValue::from("u 5481"));
    let several = [
        rule(None, Some("u"), Action::Mask, &[Owner::Span]),
        RuleText {
            name: Some("2b".to_owned()),
            ..rule(None, Some("redacted"), Action::Remove, &[])
        },
    ];
    assert_eq!(
        applied(&several, &attributes)[3].1,
        AnyValue::from("[] 5481"),
        "one after the other"
    );
}

#[test]
fn fields_of_later_versions_are_kept() {
    let mut bytes = one(&[("secret", "5481".into())]);
    // A field 99 at the end of the request, and one in a resource message of its own that carries a key, too.
    bytes.extend_from_slice(&[0x9a, 0x06, 3, b'n', b'e', b'w']);
    bytes.extend_from_slice(&[0x0a, 8, 0x0a, 6, 0x9a, 0x06, 3, b'r', b'e', b's']);
    let remove = rules(&[rule(Some("secret"), None, Action::Remove, &[])]);
    let after = remove.apply(&bytes, Signal::Traces).expect("a request").expect("changed");
    assert!(!holds(&after, "5481") && holds(&after, "new") && holds(&after, "res"));
    assert!(
        remove.apply(b"\xff\xff\xff", Signal::Traces).is_err(),
        "what is no request is told with its place"
    );
}

#[test]
fn what_is_found_never_reaches_the_disk_and_is_counted() {
    let config = "redact_hash_key = \"pepper\"\n\
        [[redact]]\nname = \"mail\"\nvalue = '[a-z0-9]+@[a-z.]+'\naction = \"mask\"\n\
        [[redact]]\nname = \"keys\"\nkey = \"*.api_key\"\naction = \"remove\"\n\
        [[redact]]\nname = \"user\"\nkey = \"user.id\"\naction = \"hash\"\nscope = [\"span\"]\n";
    let bridge = Serving::start(config);
    let mut secret = span(1, "mail to bob5481@example.org");
    secret.attributes.push("tool.api_key", "key5481");
    secret.attributes.push("user.id", "user5481");
    let mut log = LogRecord {
        trace_id: Some(trace_id(1)),
        span_id: None,
        time: Some(secret.start),
        observed_time: None,
        severity: 9,
        severity_text: String::new(),
        event_name: String::new(),
        body: AnyValue::from("from eve5481@example.org"),
        attributes: Attributes::default(),
        dropped_attributes: 0,
        flags: 0,
        resource: Arc::default(),
        scope: Arc::default(),
    };
    log.attributes.push("user.id", "user of the log");
    let protobuf = [("content-type", "application/x-protobuf")];
    assert_eq!(bridge.post("/v1/traces", &protobuf, &encode::traces(&[secret])).status, 200);
    assert_eq!(bridge.post("/v1/logs", &protobuf, &encode::logs(&[log])).status, 200);
    let json = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"02020202020202020202020202020202","spanId":"0707070707070707",
        "name":"json of ann5481@example.org"}]}]}]}"#;
    assert_eq!(
        bridge
            .post("/v1/traces", &[("content-type", "application/json")], json.as_bytes())
            .status,
        200
    );
    for name in ["oi-langchain-agent"] {
        for (path, bytes) in recorded("traces") {
            if path.parent().and_then(Path::file_name).is_some_and(|folder| folder == name) {
                assert_eq!(bridge.post("/v1/traces", &protobuf, &bytes).status, 200);
            }
        }
    }
    let seen = bridge.get(&format!("/api/v1/traces/{}", trace_id(1)), None).text();
    for words in ["mail to [redacted]", "from [redacted]", "[hmac:", "user of the log"] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    let found = |rule: &str| bridge.metric(&format!("spanbridge_redactions_total{{rule=\"{rule}\"}}"), None);
    // The name, and the session that is named after it; the body; the span in JSON.
    assert_eq!((found("mail"), found("keys"), found("user")), (4, 1, 1));
    let (said, directory) = bridge.stop();
    assert!(!said.contains("5481"), "{said}");
    for (path, bytes) in files(&directory.path().join("data")) {
        assert!(!holds(&bytes, "5481"), "{}", path.display());
    }
}

#[test]
fn broken_requests_are_told_and_what_decodes_before_decodes_after() {
    let rules = rules(&[
        rule(None, Some("[a-m]+"), Action::Mask, &[]),
        RuleText {
            name: Some("keys".to_owned()),
            ..rule(Some("*e*"), None, Action::Remove, &[Owner::Span, Owner::Event])
        },
    ]);
    let mut chance = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |bound: usize| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        usize::try_from(chance >> 16).expect("a number") % bound
    };
    let small: Vec<Vec<u8>> = recorded("traces")
        .into_iter()
        .map(|(_, bytes)| bytes)
        .filter(|bytes| bytes.len() < 20_000)
        .collect();
    assert!(small.len() > 10, "{} small requests", small.len());
    let (mut whole, mut broken) = (0, 0);
    for round in 0..2_000 {
        let mut bytes = small[round % small.len()].clone();
        for _ in 0..=below(3) {
            let at = below(bytes.len());
            bytes[at] = u8::try_from(below(256)).expect("a byte");
        }
        match (rules.apply(&bytes, Signal::Traces), decode::traces(&bytes)) {
            (Ok(after), Ok(before)) => {
                let after = decode::traces(after.as_deref().unwrap_or(&bytes)).expect("still a request");
                assert_eq!(after.items.len(), before.items.len());
                // An id of a wrong length is looked through, so that it may have another length then.
                let told =
                    |refused: &[Refused]| -> Vec<_> { refused.iter().map(|one| (one.path, std::mem::discriminant(&one.reason))).collect() };
                assert_eq!(told(&after.refused), told(&before.refused));
                whole += 1;
            }
            (Err(_), Err(_)) => broken += 1,
            (applied, decoded) => panic!("{applied:?} where decoding says {:?}", decoded.err()),
        }
    }
    assert!(whole > 100 && broken > 100, "{whole} whole, {broken} broken");
}

/// An id of another length than ids have may be any text: it is looked through, and stays what it was where nothing is found.
#[test]
fn ids_of_a_wrong_length_are_looked_through() {
    let rules = rules(&[rule(None, Some("ann@example"), Action::Mask, &[])]);
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, u8::try_from(bytes.len()).expect("short")], bytes].concat();
    let request = |parent: &[u8], link: &[u8]| {
        let link = field(13, &[field(1, &[3; 16]), field(2, link)].concat());
        let span = [field(1, &[1; 16]), field(2, &[2; 8]), field(4, parent), field(5, b"name"), link].concat();
        field(1, &field(2, &field(2, &span)))
    };
    let hidden = rules
        .apply(&request(b"ann@example", b"of ann@example"), Signal::Traces)
        .expect("a request");
    assert_eq!(hidden, Some(request(b"[redacted]", b"of [redacted]")));
    for fine in [request(&[7; 8], &[8; 8]), request(b"", b"an id of others")] {
        assert_eq!(rules.apply(&fine, Signal::Traces).expect("a request"), None);
    }
}
