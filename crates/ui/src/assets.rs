//! Files that pages need: nothing comes from another host.

/// A file by the name in its address: its type and content.
pub(crate) fn find(name: &str) -> Option<(&'static str, &'static [u8])> {
    Some(match name {
        // htmx 2.0.11 and its extension for server-sent events 2.2.4, as npm has them: 0BSD.
        "htmx.js" => ("text/javascript", include_bytes!("../assets/htmx.min.js")),
        "htmx-sse.js" => ("text/javascript", include_bytes!("../assets/htmx-sse.min.js")),
        "icon.svg" => ("image/svg+xml", include_bytes!("../assets/icon.svg")),
        "style.css" => ("text/css", include_bytes!("../assets/style.css")),
        _ => return None,
    })
}
