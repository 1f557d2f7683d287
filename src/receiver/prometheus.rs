//! The text format of Prometheus, version 0.0.4: each metric is named once, followed by all its samples.

use std::fmt::{Display, Write as _};

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the process runs; by convention its name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// A text under construction.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// Adds a metric with a single sample and no labels.
    pub fn one(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.metric(name, kind, help, [(Vec::new(), value)]);
    }

    /// Adds a metric with its samples: labels and value, in the given order.
    pub fn metric<'a, V: Display>(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'a str, &'a str)>, V)>,
    ) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let labels: Vec<String> = labels
                .into_iter()
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            let labels = match labels.is_empty() {
                true => String::new(),
                false => format!("{{{}}}", labels.join(",")),
            };
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    /// The finished text.
    #[must_use]
    pub fn finish(self) -> String {
        self.0
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
