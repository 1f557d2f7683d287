//! Requests to the API.

use std::time::Duration;

use serde_json::Value;

pub(crate) struct Client {
    agent: ureq::Agent,
    url: String,
    token: Option<String>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            agent: ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(Duration::from_secs(60)))
                .proxy(None)
                .build()
                .into(),
            url: url.to_owned(),
            token: None,
        }
    }

    pub(crate) fn with_token(url: &str, token: &str) -> Self {
        Self {
            token: Some(format!("Bearer {token}")),
            ..Self::new(url)
        }
    }

    /// `None`: the connection broke.
    pub(crate) fn try_post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Option<Answer> {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers
            .iter()
            .copied()
            .chain(self.token.as_deref().map(|token| ("authorization", token)))
        {
            request = request.header(name, value);
        }
        read(request.send(body).ok()?)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.try_post(path, &[], body.as_bytes()).expect("an answer")
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", token);
        }
        read(request.call().expect("an answer")).expect("an answer")
    }
}

fn read(mut response: ureq::http::Response<ureq::Body>) -> Option<Answer> {
    let status = response.status().as_u16();
    let text = response.body_mut().with_config().limit(1 << 30).read_to_string().ok()?;
    Some(Answer { status, text })
}

/// The path of a trace's blocks.
pub(crate) fn blocks(trace: &str) -> String {
    format!("/v1/organizations/default/traces/{trace}/blocks")
}
