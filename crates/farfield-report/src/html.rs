//! What HTML pages have in common: one file without scripts and without anything from elsewhere.

/// The style of text and tables, before a page's own.
const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}\
    h2{margin-top:2em;border-bottom:1px solid #ccc}table{border-collapse:collapse;margin:.6em 0}\
    td,th{padding:.15em .8em .15em 0;text-align:right;font-variant-numeric:tabular-nums}\
    td:first-child,th:first-child{text-align:left}th{border-bottom:1px solid #999}svg{width:100%;height:auto}";

/// The end of a page.
pub(crate) const END: &str = "</body></html>\n";

/// The beginning of a page with this title, and with a style of its own after the common one.
pub(crate) fn begin(title: &str, style: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}{style}</style></head><body>\n\
         <h1>{title}</h1>\n"
    )
}
