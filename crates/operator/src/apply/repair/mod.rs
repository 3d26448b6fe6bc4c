//! What is done about an object that the server does not take as it is.

pub(super) mod claims;
pub(super) mod dropped;
pub(super) mod forbidden;
pub(super) mod interrupted;
pub(super) mod merged_lists;
pub(super) mod recreate;
pub(super) mod schema;

/// A resource whose objects tests repair.
#[cfg(test)]
fn owner_of_test() -> steersman_cluster::Owner {
    steersman_cluster::Owner {
        api_version: "example.com/v1".to_owned(),
        kind: "Web".to_owned(),
        namespace: Some("default".to_owned()),
        name: "shop".to_owned(),
        uid: "u-1".to_owned(),
        chart: "web".to_owned(),
        release: "shop".to_owned(),
        release_namespace: "default".to_owned(),
    }
}
