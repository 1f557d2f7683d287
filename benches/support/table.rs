//! The tables of `src/docs/performance.md`: a benchmark prints them, and writes them into that page with `UPDATE=1`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "src/docs/performance.md";

/// A Markdown table. Its rows are printed as they come.
pub(crate) struct Table {
    name: &'static str,
    text: String,
}

impl Table {
    /// A table between `<!-- table: NAME -->` and `<!-- end -->` of the page. All columns but the first have numbers.
    pub(crate) fn new(name: &'static str, head: &[&str]) -> Self {
        let mut table = Self { name, text: String::new() };
        table.row(head);
        table.line(&format!("|---|{}", "---:|".repeat(head.len().saturating_sub(1))));
        table
    }

    pub(crate) fn row<T: AsRef<str>>(&mut self, cells: &[T]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    fn line(&mut self, line: &str) {
        println!("{line}");
        writeln!(self.text, "{line}").unwrap();
    }

    /// Writes the table into the page with `UPDATE=1`, and below it how, when and where it was measured.
    pub(crate) fn finish(self, how: &str) {
        let measured = format!(
            "{how}. Measured on {} at {} ({} × {}).",
            output("date", &["-u", "+%F"]),
            commit(),
            std::thread::available_parallelism().map_or(1, usize::from),
            processor(),
        );
        println!("\n{measured}\n");
        if std::env::var_os("UPDATE").is_none_or(|value| value != "1") {
            return;
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
        let page = std::fs::read_to_string(&path).unwrap();
        let begin = format!("<!-- table: {} -->\n", self.name);
        let (before, rest) = page.split_once(&begin).expect("the page has the table's place");
        let (_, after) = rest.split_once("<!-- end -->").expect("the table's place ends");
        let text = format!("{before}{begin}\n{}\n{measured}\n\n<!-- end -->{after}", self.text);
        std::fs::write(&path, text).unwrap();
    }
}

/// The commit that is measured, and whether anything but the page was changed since.
fn commit() -> String {
    let changed = output(
        "git",
        &["status", "--porcelain", "--untracked-files=no", "--", ".", &format!(":!{PAGE}")],
    );
    let note = if changed.is_empty() { "" } else { " with changes" };
    format!("{}{note}", output("git", &["rev-parse", "--short", "HEAD"]))
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let text = output.map_or_else(|_| "unknown".into(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.trim().to_owned()
}

fn processor() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or_else(|| "unknown".into(), |line| line.trim_start_matches([' ', '\t', ':']).to_owned())
}
