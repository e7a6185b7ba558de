//! Pages of HTML, gone through for what selectors select.

use farfield_traffic::session::query::Css;
use lol_html::errors::RewritingError;
use lol_html::{ElementContentHandlers, HtmlRewriter, MemorySettings, Settings};
use std::borrow::Cow;

/// Bytes that the HTML parser may take beside the text itself.
const PARSER_BYTES_MAX: usize = 4 << 20;

/// Goes through `html` and calls the handlers of what selectors select.
pub(crate) fn parse<'h, 's>(
    html: &[u8],
    handlers: impl IntoIterator<Item = (&'s Css, ElementContentHandlers<'h>)>,
) -> Result<(), RewritingError> {
    let handlers = handlers.into_iter().map(|(css, handlers)| (Cow::Borrowed(css.selector()), handlers));
    let mut settings = Settings::new().with_strict(false).with_memory_settings(
        MemorySettings::new().with_max_allowed_memory_usage(html.len() + PARSER_BYTES_MAX),
    );
    for handler in handlers {
        settings = settings.append_element_content_handler(handler);
    }
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(html)?;
    rewriter.end()
}
