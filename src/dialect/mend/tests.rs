use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn what_can_be_mended_is_read() {
    for (text, value) in [
        (
            r#"{"mean": NaN, "all": [Infinity, -Infinity, 1]}"#,
            json!({"mean": "NaN", "all": ["Infinity", "-Infinity", 1]}),
        ),
        (
            r#"{"s": "half \ud83d", "t": "\udc00!", "whole": "\ud83d\ude00"}"#,
            json!({"s": "half \u{fffd}", "t": "\u{fffd}!", "whole": "\u{1f600}"}),
        ),
        (
            "{\"a\": \"two\nlines\", \"b\": \"\u{1}\"}",
            json!({"a": "two\nlines", "b": "\u{1}"}),
        ),
        (r#"{"a": [1, 2, ], "b": {"c": 1,},}"#, json!({"a": [1, 2], "b": {"c": 1}})),
        (
            r#"{"path": "C:\dir\q", "it": "isn\'t"}"#,
            json!({"path": "C:\\dir\\q", "it": "isn't"}),
        ),
        (r#"{"ok": True, "no": None}"#, json!({"ok": true, "no": null})),
        (
            r#"{"wei": 1000000000000000000001, "least": -9223372036854775809, "most": 18446744073709551615}"#,
            json!({"wei": "1000000000000000000001", "least": "-9223372036854775809", "most": 18_446_744_073_709_551_615_u64}),
        ),
        (
            r#"{"f": 0.00012345678901234567, "e": 1e21, "id": "1000000000000000000001"}"#,
            json!({"f": 0.000_123_456_789_012_345_67, "e": 1e21, "id": "1000000000000000000001"}),
        ),
        ("\u{feff}[1]", json!([1])),
    ] {
        assert_eq!(parse(text), Some(value), "{text}");
    }
    for text in [
        "[the whole truth]",
        "{city} is it",
        "{'a': 1}",
        "[1] says so",
        "{\"a\": b}",
        "[a, b]",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn what_was_wrong_is_said() {
    let said = |text: &str| {
        let mut mended = Mended::default();
        let _ = parse_noting(text, Ends::Marked, &mut mended);
        mended.findings("key").collect::<Vec<_>>().join("; ")
    };
    assert_eq!(said(r#"{"a": [1.5, "\ud83d\ude00"]}"#), "");
    assert!(said(r#"{"a": NaN}"#).contains("NaN"));
    assert!(said(r#"{"a": "\ud83d"}"#).contains("surrogate"));
    assert!(said(r#"{"a": 18446744073709551616}"#).contains("64 bits"));
    assert!(said(r#"{"a": 1,}"#).contains("comma"));
    assert!(said(r#"[{"role": "user", "content": "hello the"#).contains("cut off"));
}

#[test]
fn marks_of_cuts() {
    let read = json!([{"role": "user", "content": "Rename the function"}, {"role": "user", "content": "pas"}]);
    for mark in [
        "...[truncated, original 1578 chars]",
        "...",
        "\u{2026}",
        "... (truncated)",
        "...<truncated 12 bytes>",
        "[TRUNCATED]",
        "... [123 more characters]",
        " ... truncated",
        "[...]",
        "…[+512 chars]",
    ] {
        let text = format!(r#"[{{"role": "user", "content": "Rename the function"}}, {{"role": "user", "content": "pas{mark}"#);
        let mut mended = Mended::default();
        assert_eq!(parse_noting(&text, Ends::Marked, &mut mended), Some(read.clone()), "{mark}");
        assert!(mended.cut, "{mark}");
        assert!(is_broken_answer(&text), "{mark}");
        let quoted = Value::from(text.as_str()).to_string();
        let cut = &quoted[..quoted.len() - 1];
        assert_eq!(parse_noting(cut, Ends::Marked, &mut Mended::default()), Some(read.clone()), "{cut}");
    }
    let between = r#"[{"role": "user", "content": "Rename the function"}, {"role": "us"}, ...[truncated, original 9 chars]"#;
    assert_eq!(
        parse_noting(between, Ends::Marked, &mut Mended::default()),
        Some(json!([{"role": "user", "content": "Rename the function"}, {"role": "us"}]))
    );
}

proptest! {
    /// Whatever comes, nothing panics, and what is JSON is read as it is.
    #[test]
    fn json_stays_as_it_is(words in "[\\PC\n\"\\\\{}\\[\\]:,0-9NaI-]{0,60}") {
        let _ = parse_noting(&words, Ends::Marked, &mut Mended::default());
        let _ = is_broken_answer(&words);
        let text = json!({"a": words, "b": [words, 1, 2.5, null]}).to_string();
        let mut mended = Mended::default();
        prop_assert_eq!(parse_noting(&text, Ends::Marked, &mut mended), serde_json::from_str(&text).ok());
        prop_assert_eq!(mended, Mended::default());
    }
}
