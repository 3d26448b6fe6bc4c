//! Keys without a `?`, which only the colon behind them makes known.

use super::super::Problem;
use super::super::cursor::Mark;
use super::Scanner;

/// Something on the current flow level that turns out to be a key if a colon follows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SimpleKey {
    pub(super) is_possible: bool,
    /// Only a key can stand here: in block context, at the indentation of the mapping.
    pub(super) is_required: bool,
    pub(super) token_number: usize,
    pub(super) position: usize,
    pub(super) mark: Mark,
}

/// How far behind the start of a key its colon may be, in characters.
const MAX_KEY_LENGTH: usize = 1024;

impl Scanner<'_> {
    /// Remembers that the next token may be a key.
    pub(super) fn save_simple_key(&mut self) -> Result<(), Problem> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        self.remove_simple_key()?;
        let key = SimpleKey {
            is_possible: true,
            is_required: !self.in_flow() && self.indent == self.cursor.column() as i64,
            token_number: self.taken + self.queue.len(),
            position: self.cursor.position(),
            mark: self.cursor.mark(),
        };
        if let Some(last) = self.simple_keys.last_mut() {
            *last = key;
            self.next_token_may_be_key = true;
        }
        Ok(())
    }

    pub(super) fn remove_simple_key(&mut self) -> Result<(), Problem> {
        match self.simple_keys.last_mut() {
            Some(key) if key.is_possible && key.is_required => {
                Err(self.problem("could not find expected ':'"))
            }
            Some(key) => {
                key.is_possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether the key of a level can still be one: on the same line and not too long.
    pub(super) fn is_valid_key(&mut self, level: usize) -> Result<bool, Problem> {
        let Some(key) = self.simple_keys.get(level).copied() else {
            return Ok(false);
        };
        if !key.is_possible {
            return Ok(false);
        }
        if key.mark.line == self.cursor.line() && self.cursor.is_within(key.position, MAX_KEY_LENGTH) {
            return Ok(true);
        }
        if key.is_required {
            return Err(self.problem("could not find expected ':'"));
        }
        if let Some(key) = self.simple_keys.get_mut(level) {
            key.is_possible = false;
        }
        Ok(false)
    }
    /// Lets a token leave the queue though it may yet be a key.
    ///
    /// At the end of a flow collection goyaml drops the last key inside it from its index. Where nothing
    /// inside could be one, it drops the entry of the collection itself, so that `[]` or `{}` is no key
    /// unless its colon has been seen before.
    pub(super) fn forget_key(&mut self, token_number: usize) {
        let index = token_number.checked_sub(self.taken);
        if let Some(token) = index.and_then(|index| self.queue.get_mut(index)) {
            token.key_level = None;
        }
    }
}
