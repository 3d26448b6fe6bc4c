//! From text to trees.

use std::sync::Arc;

use crate::error::Error;
use crate::function::FunctionTable;
use crate::tree::{NodeKind, Template, Tree};
use crate::value::Str;

/// The templates of `text`: the one called `name`, and those that it defines.
pub(crate) fn parse(name: &str, text: &str, functions: &FunctionTable) -> Result<Vec<Arc<Template>>, Error> {
    if functions.id("").is_some() {
        return Err(Error::parse(name, 1, "function without a name"));
    }
    let mut tree = Tree {
        name: Str::from(name),
        text: text.to_owned(),
        ..Tree::default()
    };
    let items = tree.add(
        0,
        NodeKind::Text {
            start: 0,
            end: text.len() as u32,
        },
    );
    let span = tree.add_list(&[items]);
    let root = tree.add(0, NodeKind::List(span));
    Ok(vec![Arc::new(Template {
        name: Str::from(name),
        tree: Arc::new(tree),
        root,
        slots: 1,
    })])
}
