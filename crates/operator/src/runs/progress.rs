//! What a run does, for those who wait for its end.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steersman_ansible::{Event, EventKind};

use crate::status::LearningRedactor;

/// When it is said first what a run does: most have come to their end by then.
const FIRST: Duration = Duration::from_secs(5);
/// Each time is twice as long as the one before, up to this.
const LONGEST: Duration = Duration::from_mins(1);
/// So many names of tasks are said at a time.
const MOST: usize = 10;
/// So much of a name, in bytes.
const LONGEST_NAME: usize = 80;

/// The tasks of a run that have begun.
#[derive(Debug, Default)]
pub(super) struct Progress(Mutex<Tasks>);

#[derive(Debug, Default)]
struct Tasks {
    begun: usize,
    /// The last ones that nobody was told of.
    untold: Vec<String>,
}

impl Progress {
    /// Notes that a task has begun. What is secret in its name is masked.
    pub(super) fn note(&self, event: &Event, redactor: &LearningRedactor) {
        let Some(task) = event
            .task
            .as_deref()
            .filter(|_| event.kind == EventKind::TaskStart)
        else {
            return;
        };
        let name = redactor.mask(task);
        let end = name.floor_char_boundary(LONGEST_NAME);
        let mut tasks = self.lock();
        tasks.begun += 1;
        tasks.untold.push(name.get(..end).unwrap_or_default().to_owned());
        let surplus = tasks.untold.len().saturating_sub(MOST);
        tasks.untold.drain(..surplus);
    }

    /// Says what has begun since the last time, again and again, the longer the less often. It does not end.
    pub(super) async fn tell(&self, tell: &(dyn Fn(&str) + Send + Sync)) {
        let mut pause = FIRST;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
            if let Some(words) = self.take() {
                tell(&words);
            }
        }
    }

    /// What has begun since the last time; `None` where nothing has.
    fn take(&self) -> Option<String> {
        let mut tasks = self.lock();
        let mut untold = std::mem::take(&mut tasks.untold);
        let now = untold.pop()?;
        let before = if untold.is_empty() {
            String::new()
        } else {
            format!("; before it: {}", untold.join(", "))
        };
        Some(format!("task {}: {now}{before}", tasks.begun))
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::status::Redactor;

    #[test]
    fn the_last_tasks_are_told_without_secrets_and_each_once() {
        let redactor = LearningRedactor::default();
        redactor.learn(Redactor::new([], &json!({"password": "correct horse"})));
        let progress = Progress::default();
        let begin = |name: &str| {
            let event = json!({"uuid": "u", "event": "playbook_on_task_start", "event_data": {"task": name}});
            progress.note(&Event::parse(event).unwrap(), &redactor);
        };
        assert_eq!(progress.take(), None);
        begin("log in with correct horse");
        assert_eq!(progress.take().unwrap(), "task 1: log in with ********");
        assert_eq!(progress.take(), None);
        for number in 2..=30 {
            begin(&format!("step {number}"));
        }
        let told = progress.take().unwrap();
        assert!(
            told.starts_with("task 30: step 30; before it: step 21, step 22"),
            "{told}"
        );
        begin(&"x".repeat(1000));
        assert!(progress.take().unwrap().len() < 100);
    }
}
