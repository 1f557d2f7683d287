//! Explains errors of libraries, and what to do about them.

/// Meanings of TLS errors for a client. The first match is used.
const MEANINGS: &[(&str, &str)] = &[
    (
        "CaUsedAsEndEntity",
        "the server's certificate is the certificate of an authority (CA:TRUE), which clients reject; give the server a certificate with \
         CA:FALSE (openssl req -x509 -addext basicConstraints=critical,CA:FALSE)",
    ),
    (
        "UnknownIssuer",
        "the server's certificate is signed by an authority that this machine does not trust; pass the authority's certificate \
         (--ca FILE, SPANBRIDGE_CA; for a destination, `tls` in its [[forward]] table)",
    ),
    (
        "not valid for name",
        "the server's certificate is for other names; use one of them in the URL, or give the server a certificate for this name",
    ),
    (
        "NotValidForName",
        "the server's certificate is for other names than that in the URL",
    ),
    ("expired", "the server's certificate has expired, or this machine's clock is wrong"),
    (
        "not valid yet",
        "the server's certificate is not valid yet, or this machine's clock is wrong",
    ),
    (
        "NotValidYet",
        "the server's certificate is not valid yet, or this machine's clock is wrong",
    ),
    (
        "UnsupportedCertVersion",
        "the server's certificate has an old version (X.509 v1); create one of version 3 with subjectAltName",
    ),
    ("CertificateRequired", "the server requires a client certificate, and none was sent"),
    (
        "InvalidContentType",
        "the server speaks plain HTTP on this port; write http:// in the URL",
    ),
];

/// The meaning of a library's error; `None` if its text is clear enough.
pub(super) fn meaning(words: &str) -> Option<&'static str> {
    if words.contains("Connection refused") {
        return Some("nothing listens there: start the server, or correct the URL");
    }
    // Only in errors about certificates or TLS: other things expire, too.
    let is_tls = ["certificate", "corrupt message", "rustls", "tls"]
        .iter()
        .any(|word| words.contains(word));
    let meaning = MEANINGS.iter().find(|(fault, _)| words.contains(fault));
    meaning.filter(|_| is_tls).map(|(_, meaning)| *meaning)
}

/// Meanings of answers with which a destination refuses everything, by their beginnings.
const REFUSALS: &[(&str, &str)] = &[
    ("401", NO_CREDENTIALS),
    ("UNAUTHENTICATED", NO_CREDENTIALS),
    ("403", NO_RIGHT),
    ("PERMISSION_DENIED", NO_RIGHT),
    ("404", NO_RECEIVER),
    ("405", NO_RECEIVER),
    ("NOT_FOUND", NO_RECEIVER),
    ("UNIMPLEMENTED", NO_RECEIVER),
];
const NO_CREDENTIALS: &str = "the destination requires credentials; pass them with --header, such as 'authorization=Bearer ${env:TOKEN}'";
const NO_RIGHT: &str = "the destination does not let these credentials write; pass others with --header";
const NO_RECEIVER: &str = "there is no OTLP receiver at this address; correct the URL in --to, or set --protocol";

/// The same for a destination's answer.
pub(super) fn refusal_explained(words: String) -> String {
    match REFUSALS.iter().find(|(answer, _)| words.starts_with(answer)) {
        Some((_, meaning)) => format!("{meaning} ({words})"),
        None => explained(words),
    }
}

/// The text, preceded by its meaning.
pub(super) fn explained(words: String) -> String {
    match meaning(&words) {
        Some(meaning) if !words.contains(meaning) => format!("{meaning} ({words})"),
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_tls_are_said_in_words() {
        for (words, expected) in [
            ("io: invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "CA:FALSE"),
            ("invalid peer certificate: UnknownIssuer", "--ca FILE"),
            ("received corrupt message of type InvalidContentType", "http://"),
            ("invalid peer certificate: certificate expired: verification time", "has expired"),
        ] {
            let explained = explained(words.to_owned());
            assert!(
                explained.contains(expected) && explained.ends_with(&format!("({words})")),
                "{explained}"
            );
        }
        assert_eq!(explained("the lease expired".to_owned()), "the lease expired");
        assert!(explained("io: Connection refused (os error 111)".to_owned()).contains("start the server"));
    }
}
