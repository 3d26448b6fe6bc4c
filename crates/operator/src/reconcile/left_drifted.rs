//! Drift that is not put back at once, for the status.

use serde_json::{Value, json};
use steersman_model::ObjectId;
use steersman_watches::drift::DriftMode;
use tokio::time::Instant;

use super::drift_backoff::DriftBackoff;

/// The field of the status.
pub(super) const DRIFT_FIELD: &str = "drift";

/// So many objects are named.
const NAMED: usize = 10;

const TOLERATED: &str = "they stay so: `driftDetection.mode` is `warn`";
const PUT_BACK_LATER: &str = "somebody keeps changing them, and they are put back more slowly";

/// What differs now from what the release wants, and stays so for a while.
#[derive(Debug, Default)]
pub(super) struct LeftDrifted {
    objects: Vec<ObjectId>,
    is_put_back_later: bool,
}

impl LeftDrifted {
    /// Those that nobody puts back now, in this mode and after these corrections.
    pub(super) fn of(
        drifted: &[ObjectId],
        (mode, backoff): (DriftMode, &DriftBackoff),
        now: Instant,
    ) -> Self {
        let drifted = drifted.to_vec();
        match mode {
            DriftMode::Enabled => Self {
                objects: backoff.turn(drifted, now).waiting,
                is_put_back_later: true,
            },
            DriftMode::Warn => Self {
                objects: drifted,
                is_put_back_later: false,
            },
            DriftMode::Disabled => Self::default(),
        }
    }

    /// What the status says of it; `None` where that is nothing. `mask` masks what is secret in names.
    pub(super) fn field(&self, mask: impl FnOnce(&[String]) -> Vec<String>) -> Option<Value> {
        if self.objects.is_empty() {
            return None;
        }
        let named: Vec<String> = self.objects.iter().take(NAMED).map(ToString::to_string).collect();
        let message = if self.is_put_back_later {
            PUT_BACK_LATER
        } else {
            TOLERATED
        };
        Some(json!({"total": self.objects.len(), "objects": mask(&named), "message": message}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(number: usize) -> Vec<ObjectId> {
        let object = |number| ObjectId {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: format!("{number:02}"),
        };
        (0..number).map(object).collect()
    }

    #[test]
    fn the_first_of_them_are_named_without_secrets() {
        let backoff = DriftBackoff::default();
        let left = |mode, number| LeftDrifted::of(&objects(number), (mode, &backoff), Instant::now());
        let plain = |names: &[String]| names.to_vec();
        assert_eq!(left(DriftMode::Disabled, 3).field(plain), None);
        assert_eq!(left(DriftMode::Warn, 0).field(plain), None);
        let field = left(DriftMode::Warn, 12).field(|names| vec!["***".to_owned(); names.len()]);
        let field = field.unwrap();
        assert_eq!(
            (&field["total"], &field["message"]),
            (&json!(12), &json!(TOLERATED))
        );
        assert_eq!(field["objects"], json!(vec!["***"; NAMED]));
    }

    #[test]
    fn what_is_put_back_at_once_is_not_told() {
        let (drifted, now) = (objects(2), Instant::now());
        let mut backoff = DriftBackoff::default();
        for _ in 0..6 {
            backoff.note(&drifted[..1], now);
        }
        let left = LeftDrifted::of(&drifted, (DriftMode::Enabled, &backoff), now);
        let field = left.field(<[String]>::to_vec).unwrap();
        assert_eq!(
            field,
            json!({"total": 1, "objects": ["ConfigMap 00"], "message": PUT_BACK_LATER})
        );
    }
}
