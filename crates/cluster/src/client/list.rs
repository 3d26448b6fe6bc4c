//! Lists of objects.

use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use kube::api::{Api, DynamicObject, ListParams};
use serde::de::DeserializeOwned;

use crate::{RequestError, is_too_large};

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
    let mut pages = Pages::of(api, parameters);
    let mut found = Vec::new();
    while let Some(page) = pages.next().await? {
        found.extend(page);
    }
    Ok(found)
}

/// A list that is asked for page by page. A page that is too large for an answer is asked for again with fewer objects.
#[derive(Debug)]
pub struct Pages<'a, K> {
    api: &'a Api<K>,
    parameters: ListParams,
    is_at_end: bool,
    remaining: usize,
}

impl<'a, K: Clone + DeserializeOwned + Debug> Pages<'a, K> {
    /// The pages of a list, of as many objects as the limit of `parameters` says, or else of 500.
    pub fn of(api: &'a Api<K>, parameters: ListParams) -> Self {
        let limit = parameters.limit.unwrap_or(PAGE);
        Self {
            api,
            parameters: parameters.limit(limit),
            is_at_end: false,
            remaining: 0,
        }
    }

    /// How many objects follow the last page, where the server says so: it does not of what labels or fields select.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// The next page; `None` after the last one.
    ///
    /// # Errors
    /// The server refuses the request, or one object alone is too large for an answer.
    pub async fn next(&mut self) -> kube::Result<Option<Vec<K>>> {
        while !self.is_at_end {
            match self.api.list(&self.parameters).await {
                Ok(page) => {
                    self.turn(page.metadata);
                    return Ok(Some(page.items));
                }
                Err(error) => self.shorten(error)?,
            }
        }
        Ok(None)
    }

    /// The metadata of what is on the next page; `None` after the last one.
    ///
    /// # Errors
    /// As [`Pages::next`].
    pub async fn next_metadata(&mut self) -> kube::Result<Option<Vec<ObjectMeta>>> {
        while !self.is_at_end {
            match self.api.list_metadata(&self.parameters).await {
                Ok(page) => {
                    self.turn(page.metadata);
                    let items = page.items.into_iter();
                    return Ok(Some(items.map(|object| object.metadata).collect()));
                }
                Err(error) => self.shorten(error)?,
            }
        }
        Ok(None)
    }

    fn turn(&mut self, of_page: ListMeta) {
        self.parameters.continue_token = of_page.continue_.filter(|token| !token.is_empty());
        self.is_at_end = self.parameters.continue_token.is_none();
        let remaining = of_page.remaining_item_count.unwrap_or_default();
        self.remaining = usize::try_from(remaining).unwrap_or_default();
    }

    fn shorten(&mut self, error: kube::Error) -> kube::Result<()> {
        match self.parameters.limit {
            Some(limit) if limit > 1 && is_too_large(&error) => {
                self.parameters.limit = Some(limit.div_ceil(10));
                Ok(())
            }
            _ => Err(error),
        }
    }
}
