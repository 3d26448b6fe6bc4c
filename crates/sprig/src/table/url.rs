//! URLs into maps and back, and the lookup of hosts, which finds none.

use steersman_gotemplate::Function;
use steersman_gotemplate::Parameter::{Map as Dict, String as Text};

use crate::url;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::pure("urlParse", &[Text], url::url_parse)
        .signature("url", "map[string]any")
        .documentation(
            "The parts of the URL as a map: `scheme`, `userinfo`, `host`, `hostname`, `path`, `query`, \
             `opaque` and `fragment`. Fails for what is no URL.",
        )
        .example(
            r#"{{ (urlParse "https://example.com:8443/a?b=1").hostname }}"#,
            "example.com",
        ),
    Function::pure("urlJoin", &[Dict], url::url_join)
        .signature("parts", "string")
        .documentation("The URL of such a map as `urlParse` gives. Fails where a part has the wrong type.")
        .example(
            r#"{{ urlJoin (dict "scheme" "https" "host" "example.com" "path" "/a") }}"#,
            "https://example.com/a",
        ),
    Function::pure("getHostByName", &[Text], url::no_host)
        .signature("name", "string")
        .documentation(
            "The empty text: nothing in a template asks the network. In charts, Helm's function of this \
             name replaces it.",
        ),
];
