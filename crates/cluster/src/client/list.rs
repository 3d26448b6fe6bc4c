//! Lists of objects.

use kube::api::{Api, DynamicObject, ListParams};

use crate::RequestError;

/// Objects are listed in pages of this size: commands keep all that they list.
const PAGE: u32 = 500;

/// All objects, page by page.
///
/// # Errors
/// The server refuses one of the requests.
pub async fn list_all(
    api: &Api<DynamicObject>,
    parameters: ListParams,
) -> Result<Vec<DynamicObject>, RequestError> {
    let mut parameters = parameters.limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = api.list(&parameters).await?;
        found.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters.continue_token = Some(token),
            None => return Ok(found),
        }
    }
}
