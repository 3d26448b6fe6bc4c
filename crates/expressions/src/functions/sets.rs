//! The extension for sets: lists whose order and repetitions do not count.

use super::wrong;
use crate::error::EvaluationError;
use crate::resources::Resources;
use crate::value::{List, Val};

impl Resources {
    pub(super) fn set<'a>(
        &mut self,
        name: &'static str,
        arguments: &[Val<'a>],
    ) -> Result<Val<'a>, EvaluationError> {
        let [Val::List(left), Val::List(right)] = arguments else {
            return Err(wrong(name, arguments));
        };
        Ok(Val::Bool(match name {
            "sets.contains" => self.has_all(left, right)?,
            "sets.equivalent" => self.has_all(left, right)? && self.has_all(right, left)?,
            _ => self.has_any(left, right)?,
        }))
    }

    fn has_all<'a>(&mut self, set: &List<'a>, of: &List<'a>) -> Result<bool, EvaluationError> {
        let set = Val::List(set.clone());
        for item in of.iter() {
            if !self.contains(&set, &item)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_any<'a>(&mut self, set: &List<'a>, of: &List<'a>) -> Result<bool, EvaluationError> {
        let set = Val::List(set.clone());
        for item in of.iter() {
            if self.contains(&set, &item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
