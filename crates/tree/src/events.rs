//! Events about objects.

use std::collections::BTreeSet;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{Api, ListParams};
use steersman_cluster::RequestError;
use steersman_model::harmless;

/// So many of a namespace are looked through, and so many of one object where there are more.
const MOST_READ: u32 = 1000;
const MOST_OF_ONE: u32 = 100;
/// Where there are more, those of so many objects are asked for, of some at a time.
const MOST_ASKED: usize = 64;
const AT_ONCE: usize = 8;
/// So many are told, the last ones.
const MOST: usize = 30;

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

/// The last events of a namespace about some objects, by their kinds and names, the last one first. In a namespace with more than
/// 1,000 events they are those of the first 64 objects, as they are sorted.
///
/// # Errors
/// They can't be listed.
pub async fn events(
    client: &Client,
    namespace: &str,
    about: &BTreeSet<(String, String)>,
) -> Result<Vec<EventView>, RequestError> {
    let events: Api<Event> = Api::namespaced(client.clone(), namespace);
    let found = events.list(&ListParams::default().limit(MOST_READ)).await?;
    let is_all = found.metadata.continue_.as_deref().is_none_or(str::is_empty);
    let is_meant = |event: &Event| {
        let of = &event.involved_object;
        let named = of.kind.clone().zip(of.name.clone());
        named.is_some_and(|named| about.contains(&named))
    };
    let meant = if is_all {
        found.items
    } else {
        drop(found);
        let asked = about.iter().take(MOST_ASKED);
        let asked: Vec<_> = asked.map(|named| of_one(events.clone(), fields(named))).collect();
        let each = futures::stream::iter(asked).buffer_unordered(AT_ONCE);
        let each: Vec<Vec<Event>> = each.try_collect().await?;
        each.into_iter().flatten().collect()
    };
    let mut views: Vec<EventView> = meant.iter().filter(|event| is_meant(event)).map(view).collect();
    views.sort_by(|one, other| other.last.cmp(&one.last));
    views.truncate(MOST);
    Ok(views)
}

fn fields((kind, name): &(String, String)) -> String {
    format!("involvedObject.kind={kind},involvedObject.name={name}")
}

async fn of_one(events: Api<Event>, fields: String) -> Result<Vec<Event>, RequestError> {
    let asked = ListParams::default().fields(&fields).limit(MOST_OF_ONE);
    Ok(events.list(&asked).await?.items)
}

fn view(event: &Event) -> EventView {
    let of = &event.involved_object;
    let text = |text: &Option<String>| harmless(text.as_deref().unwrap_or_default());
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
