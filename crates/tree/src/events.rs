//! Events about objects.

use std::collections::BTreeSet;

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{Event, ObjectReference};
use kube::Client;
use kube::api::{Api, ListParams};
use steersman_cluster::RequestError;
use steersman_cluster::client::Pages;
use steersman_model::{ObjectId, harmless};

/// So many of a namespace are looked through, and so many of one object where there are more.
const MOST_READ: usize = 1000;
const MOST_OF_ONE: usize = 100;
/// So many are asked for at a time: mostly they are small.
const PAGE: u32 = 250;
/// Where there are more, those of so many objects are asked for, of some at a time.
const MOST_ASKED: usize = 64;
const AT_ONCE: usize = 8;
/// So many are told, the last ones.
const MOST: usize = 30;
/// A text with more bytes is not told. It is not cut, as then half a secret could be in it, which nothing masks.
const LONGEST: usize = 16 * 1024;

/// Something that has happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventView {
    /// Which one, such as `Pod web-0`.
    pub object: String,
    /// Whether it is a warning.
    pub is_warning: bool,
    /// One word.
    pub reason: String,
    /// For people.
    pub message: String,
    /// How often.
    pub count: i32,
    /// When last, in RFC 3339; empty where that was not noted.
    pub last: String,
}

/// The last events of a namespace about some objects, the last one first. In a namespace with more than
/// 1,000 events they are those of the first 64 objects, as they are sorted.
///
/// # Errors
/// They can't be listed.
pub async fn events(
    client: &Client,
    namespace: &str,
    about: &BTreeSet<ObjectId>,
) -> Result<Vec<EventView>, RequestError> {
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    let known = about
        .iter()
        .map(|id| (id.kind.as_str(), id.name.as_str(), id.group.as_str()));
    let known: BTreeSet<_> = known.collect();
    let (mut views, is_all) = newest_of(&events, ListParams::default(), (&known, MOST_READ)).await?;
    if is_all {
        return Ok(views);
    }
    views.clear();
    let asked = about.iter().take(MOST_ASKED).map(|id| {
        let asked = ListParams::default().fields(&fields(id));
        newest_of(&events, asked, (&known, MOST_OF_ONE)).boxed()
    });
    let asked: Vec<_> = asked.collect();
    let mut each = futures::stream::iter(asked).buffer_unordered(AT_ONCE);
    while let Some((found, _)) = each.try_next().await? {
        views.extend(found);
        cut(&mut views);
    }
    Ok(views)
}

/// The last of those asked for that are about what is known, and whether all were looked through: no more are than `most`.
async fn newest_of(
    events: &Api<Event>,
    asked: ListParams,
    (known, most): (&BTreeSet<(&str, &str, &str)>, usize),
) -> Result<(Vec<EventView>, bool), RequestError> {
    let mut pages = Pages::of(events, asked.limit(PAGE));
    let (mut views, mut read) = (Vec::new(), 0);
    while let Some(page) = pages.next().await? {
        read += page.len();
        if read + pages.remaining() > most {
            return Ok((views, false));
        }
        let is_meant = |event: &&Event| is_among(&event.involved_object, known).unwrap_or_default();
        views.extend(page.iter().filter(is_meant).map(view));
        cut(&mut views);
    }
    Ok((views, true))
}

/// The last ones.
fn cut(views: &mut Vec<EventView>) {
    views.sort_by(|one, other| other.last.cmp(&one.last));
    views.truncate(MOST);
}

/// Whether an event is about one of these, by kind, name and API group. Who writes one need not say of which group that is.
fn is_among(of: &ObjectReference, known: &BTreeSet<(&str, &str, &str)>) -> Option<bool> {
    let (kind, name) = (of.kind.as_deref()?, of.name.as_deref()?);
    let version = of.api_version.as_deref().filter(|version| !version.is_empty());
    let Some(version) = version else {
        let next = known.range((kind, name, "")..).next();
        return Some(next.is_some_and(|next| (next.0, next.1) == (kind, name)));
    };
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    Some(known.contains(&(kind, name, group)))
}

fn fields(id: &ObjectId) -> String {
    format!("involvedObject.kind={},involvedObject.name={}", id.kind, id.name)
}

fn view(event: &Event) -> EventView {
    let of = &event.involved_object;
    let text = |text: &Option<String>| match text.as_deref().unwrap_or_default() {
        text if text.len() > LONGEST => "(too long to be shown)".to_owned(),
        text => harmless(text),
    };
    let series = event.series.as_ref();
    let times = [
        event.last_timestamp.as_ref().map(|time| time.0),
        series
            .and_then(|series| series.last_observed_time.as_ref())
            .map(|time| time.0),
        event.event_time.as_ref().map(|time| time.0),
        event.metadata.creation_timestamp.as_ref().map(|time| time.0),
    ];
    let last = times.into_iter().flatten().next();
    EventView {
        object: format!("{} {}", text(&of.kind), text(&of.name)),
        is_warning: event.type_.as_deref() == Some("Warning"),
        reason: text(&event.reason),
        message: text(&event.message),
        count: event
            .count
            .or(series.and_then(|series| series.count))
            .unwrap_or(1),
        last: last
            .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
            .unwrap_or_default(),
    }
}
