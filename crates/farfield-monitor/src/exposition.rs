//! The text format of Prometheus exporters, as far as numbers go: name, labels, value, and whether it is a
//! counter. Time stamps, help and units are not read.

/// Most numbers that are kept of a reading.
const SAMPLES_MAX: usize = 1_000;

/// Most bytes of a name with its labels: longer ones are passed over.
const NAME_BYTES_MAX: usize = 4 << 10;

/// Metrics that are read of an exporter whose settings name none.
const USUAL: [&str; 12] = [
    "node_cpu_seconds_total",
    "node_load1",
    "node_memory_Mem*_bytes",
    "node_memory_Swap*_bytes",
    "node_context_switches_total",
    "node_netstat_*",
    "node_sockstat_*",
    "node_network_*_bytes_total",
    "node_disk_io_time_seconds_total",
    "node_filefd_*",
    "nginx*",
    "apache_*",
];

/// One number of an exporter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub metric: String,
    pub labels: String,
    pub is_counter: bool,
    pub value: f64,
}

/// The numbers of the metrics that are wanted. Lines that are no numbers are passed over.
pub(crate) fn parse(text: &str, wanted: &[String]) -> Vec<Sample> {
    let keeps = |name: &str| match wanted.is_empty() {
        true => USUAL.iter().any(|pattern| matches(pattern, name)),
        false => wanted.iter().any(|pattern| matches(pattern, name)),
    };
    let mut counter_of = "";
    let mut samples = Vec::new();
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap_or((kind, ""));
            counter_of = if matches!(kind.trim(), "counter" | "histogram" | "summary") { name } else { "" };
            continue;
        }
        let Some((name, labels, value)) = sample(line) else { continue };
        let is_long = name.len() + labels.len() > NAME_BYTES_MAX;
        if samples.len() == SAMPLES_MAX || is_long || !keeps(name) {
            continue;
        }
        // A family of untyped numbers is taken for what its name says.
        let typed = !counter_of.is_empty() && name.starts_with(counter_of);
        let is_quantile = labels.contains("quantile=");
        let is_counter = typed && !is_quantile || name.ends_with("_total") || is_untyped_counter(name);
        samples.push(Sample { metric: name.to_owned(), labels: labels.to_owned(), is_counter, value });
    }
    samples
}

/// node_exporter gives the kernel's counters of `netstat` no type.
fn is_untyped_counter(name: &str) -> bool {
    name.starts_with("node_netstat_") && !name.ends_with("_CurrEstab")
}

/// Name, labels and value of a line; `None` if it is none.
fn sample(line: &str) -> Option<(&str, &str, f64)> {
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        None => ("", rest),
        Some(inside) => {
            let end = end_of_labels(inside)?;
            (&inside[..end], &inside[end + 1..])
        }
    };
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    (!name.is_empty()).then_some((name, labels, value))
}

/// The place of the brace that ends labels: in quotes it is a character, and a backslash escapes the next.
fn end_of_labels(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// True if `name` fits `pattern`, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
    }

    #[test]
    fn the_text_format_is_read() {
        let text = "# HELP a Some help\n# TYPE a counter\na{x=\"}\\\"{\",y=\"2\"} 3.5e2 1700000000\na 4\n\n\
                    # TYPE b gauge\nb -Inf\nb{} 7\nbroken\n{} 3\nc{x=\"1 5\nd{x=\"1\"}\n# TYPE e summary\n\
                    e{quantile=\"0.5\"} 2\ne_count 9\n";
        let samples = parse(text, &wanted(&["*"]));
        let sample = |metric: &str, labels: &str, is_counter, value| Sample {
            metric: metric.to_owned(),
            labels: labels.to_owned(),
            is_counter,
            value,
        };
        assert_eq!(
            samples,
            [
                sample("a", r#"x="}\"{",y="2""#, true, 350.0),
                sample("a", "", true, 4.0),
                sample("b", "", false, f64::NEG_INFINITY),
                sample("b", "", false, 7.0),
                sample("e", r#"quantile="0.5""#, false, 2.0),
                sample("e_count", "", true, 9.0),
            ]
        );
    }

    #[test]
    fn names_have_a_limit() {
        let line = |bytes: usize| format!("a{{x=\"{}\"}} 1\n", "y".repeat(bytes));
        let samples = parse(&[line(1 << 20), line(4_000), line(5_000)].concat(), &wanted(&["*"]));
        assert_eq!(samples.len(), 1);
        assert_eq!(samples[0].labels.len(), 4_000 + 4);
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "a", false),
            ("a*b*c", "axbxc", true),
            ("a*b*c", "axc", false),
            ("*", "", true),
            ("a*ca", "aca", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn an_exporter_without_a_list_has_the_usual_metrics_and_not_too_many() {
        let line = |n| format!("node_netstat_X{n} 1\nprocess_x{n} 1\n");
        let text: String = (0..2 * SAMPLES_MAX).map(line).collect();
        let samples = parse(&text, &[]);
        assert_eq!(samples.len(), SAMPLES_MAX);
        assert!(
            samples.iter().all(|sample| sample.is_counter && sample.metric.starts_with("node_netstat_X"))
        );
    }
}
