//! How often to look at a custom resource.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::adapter::Followed;

/// How often to look at resources without a change and an annotation: the watch overrides the flag. `None` is
/// never.
pub(super) fn default_period(watch: Option<Duration>, flag: Option<Duration>) -> Option<Duration> {
    watch.or(flag).filter(|period| !period.is_zero())
}

/// What a resource says of its period.
pub(super) fn period_annotation<'a>(metadata: &'a ObjectMeta, followed: &Followed) -> Option<&'a str> {
    let text = metadata.annotations.as_ref()?.get(followed.period_annotation);
    text.map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::period_of;

    #[test]
    fn a_watch_sets_the_period_before_the_flag() {
        let seconds = |number| Some(Duration::from_secs(number));
        assert_eq!(default_period(seconds(5), seconds(60)), seconds(5));
        assert_eq!(default_period(None, seconds(60)), seconds(60));
        assert_eq!(default_period(seconds(0), seconds(60)), None);
        assert_eq!(default_period(None, seconds(0)), None);
        assert_eq!(default_period(None, None), None);
    }

    #[test]
    fn the_annotation_sets_the_period() {
        let default = Some(Duration::from_mins(1));
        let followed = Followed::of_test();
        let of = |text| period_of((followed.period_annotation, text), "a", default);
        assert_eq!(of(None), default);
        assert_eq!(of(Some("30s")), Some(Duration::from_secs(30)));
        assert_eq!(of(Some("1ns")), Some(Duration::from_secs(1)));
        assert_eq!(of(Some("0s")), None);
        assert_eq!(of(Some("soon")), default);
        let annotations = [(followed.period_annotation.to_owned(), "5s".to_owned())];
        let metadata = ObjectMeta {
            annotations: Some(annotations.into()),
            ..ObjectMeta::default()
        };
        assert_eq!(period_annotation(&metadata, &followed), Some("5s"));
        assert_eq!(period_annotation(&ObjectMeta::default(), &followed), None);
    }
}
