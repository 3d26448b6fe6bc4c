//! Directives, anchors, aliases and tags.

use super::super::Problem;
use super::super::cursor::END;
use super::super::token::Kind;
use super::Scanner;

impl<'a> Scanner<'a> {
    /// Scans from the `%` to the end of the line.
    pub(super) fn scan_directive(&mut self) -> Result<Kind<'a>, Problem> {
        self.cursor.skip_ascii(1);
        let name = self.scan_word();
        if name.is_empty() {
            return Err(self.problem("could not find expected directive name"));
        }
        if !self.cursor.is_blank_or_break(0) {
            return Err(self.problem("found unexpected non-alphabetical character"));
        }
        let kind = match name {
            "YAML" => self.scan_version()?,
            "TAG" => self.scan_tag_directive()?,
            _ => return Err(self.problem("found unknown directive name")),
        };
        self.scan_to_line_end()?;
        Ok(kind)
    }

    /// Skips blanks, a comment and the line break; nothing else may be left on the line.
    pub(super) fn scan_to_line_end(&mut self) -> Result<(), Problem> {
        self.cursor.skip_blanks();
        if self.cursor.current() == b'#' {
            self.cursor.skip_line();
        }
        if self.cursor.current() != END && !self.cursor.is_break() {
            return Err(self.problem("did not find expected comment or line break"));
        }
        self.cursor.skip_break();
        Ok(())
    }

    fn scan_word(&mut self) -> &'a str {
        let start = self.cursor.position();
        self.cursor.skip_word();
        self.cursor.slice(start, self.cursor.position())
    }

    fn scan_version(&mut self) -> Result<Kind<'a>, Problem> {
        self.cursor.skip_blanks();
        let major = self.scan_version_number()?;
        if self.cursor.current() != b'.' {
            return Err(self.problem("did not find expected digit or '.' character"));
        }
        self.cursor.skip_ascii(1);
        let minor = self.scan_version_number()?;
        Ok(Kind::VersionDirective { major, minor })
    }

    fn scan_version_number(&mut self) -> Result<u8, Problem> {
        let mut number = 0;
        let mut length = 0;
        while let digit @ b'0'..=b'9' = self.cursor.current() {
            length += 1;
            if length > 2 {
                return Err(self.problem("found extremely long version number"));
            }
            number = number * 10 + (digit - b'0');
            self.cursor.skip_ascii(1);
        }
        if length == 0 {
            Err(self.problem("did not find expected version number"))
        } else {
            Ok(number)
        }
    }

    fn scan_tag_directive(&mut self) -> Result<Kind<'a>, Problem> {
        self.cursor.skip_blanks();
        let handle = self.scan_tag_handle(true)?;
        if !self.cursor.is_blank() {
            return Err(self.problem("did not find expected whitespace"));
        }
        self.cursor.skip_blanks();
        let prefix = self.scan_tag_uri("")?;
        if !self.cursor.is_blank_or_break(0) {
            return Err(self.problem("did not find expected whitespace or line break"));
        }
        Ok(Kind::TagDirective { handle, prefix })
    }

    /// Scans an anchor or an alias, from its `&` or `*`.
    pub(super) fn scan_anchor(&mut self) -> Result<Kind<'a>, Problem> {
        let is_anchor = self.cursor.current() == b'&';
        self.cursor.skip_ascii(1);
        let name = self.scan_word();
        let is_terminated = self.cursor.is_blank_or_break(0) || b"?:,]}%@`".contains(&self.cursor.current());
        if name.is_empty() || !is_terminated {
            return Err(self.problem("did not find expected alphabetic or numeric character"));
        }
        Ok(if is_anchor {
            Kind::Anchor(name)
        } else {
            Kind::Alias(name)
        })
    }

    /// Scans `!suffix`, `!handle!suffix`, `!<uri>` or a lone `!`, whose handle is then empty.
    pub(super) fn scan_tag(&mut self) -> Result<Kind<'a>, Problem> {
        let (handle, suffix) = if self.cursor.peek(1) == b'<' {
            self.cursor.skip_ascii(2);
            let suffix = self.scan_tag_uri("")?;
            if self.cursor.current() != b'>' {
                return Err(self.problem("did not find the expected '>'"));
            }
            self.cursor.skip_ascii(1);
            ("", suffix)
        } else {
            let handle = self.scan_tag_handle(false)?;
            if handle.len() > 1 && handle.ends_with('!') {
                (handle, self.scan_tag_uri("")?)
            } else {
                let suffix = self.scan_tag_uri(handle)?;
                if suffix.is_empty() {
                    ("", "!".to_owned())
                } else {
                    ("!", suffix)
                }
            }
        };
        if !self.cursor.is_blank_or_break(0) {
            return Err(self.problem("did not find expected whitespace or line break"));
        }
        Ok(Kind::Tag { handle, suffix })
    }

    /// Scans `!`, `!!` or `!name!`; in a tag also `!name`, which is then no handle.
    fn scan_tag_handle(&mut self, in_directive: bool) -> Result<&'a str, Problem> {
        if self.cursor.current() != b'!' {
            return Err(self.problem("did not find expected '!'"));
        }
        let start = self.cursor.position();
        self.cursor.skip_ascii(1);
        self.cursor.skip_word();
        if self.cursor.current() == b'!' {
            self.cursor.skip_ascii(1);
        } else if in_directive && self.cursor.position() - start > 1 {
            return Err(self.problem("did not find expected '!'"));
        }
        Ok(self.cursor.slice(start, self.cursor.position()))
    }

    /// Scans the characters of a URI behind what was read as a handle and is none.
    fn scan_tag_uri(&mut self, head: &str) -> Result<String, Problem> {
        let mut uri = head.as_bytes().get(1..).unwrap_or_default().to_vec();
        let mut is_found = !head.is_empty();
        loop {
            match self.cursor.current() {
                b'%' => self.scan_uri_escape(&mut uri)?,
                byte if byte.is_ascii_alphanumeric() || b"_-;/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.cursor.skip_ascii(1);
                }
                _ => break,
            }
            is_found = true;
        }
        if !is_found {
            return Err(self.problem("did not find expected tag URI"));
        }
        Ok(String::from_utf8_lossy(&uri).into_owned())
    }

    /// Scans the `%xx` of one character.
    fn scan_uri_escape(&mut self, uri: &mut Vec<u8>) -> Result<(), Problem> {
        let mut left = None;
        loop {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (Some(high), Some(low), b'%') = (
                digit(self.cursor.peek(1)),
                digit(self.cursor.peek(2)),
                self.cursor.current(),
            ) else {
                return Err(self.problem("did not find URI escaped octet"));
            };
            let octet = (high * 16 + low) as u8;
            let remaining = match (left, octet) {
                (None, ..0x80) => 0,
                (None, 0xc0..0xe0) => 1,
                (None, 0xe0..0xf0) => 2,
                (None, 0xf0..0xf8) => 3,
                (None, _) => return Err(self.problem("found an incorrect leading UTF-8 octet")),
                (Some(left), 0x80..0xc0) => left - 1,
                (Some(_), _) => return Err(self.problem("found an incorrect trailing UTF-8 octet")),
            };
            uri.push(octet);
            self.cursor.skip_ascii(3);
            if remaining == 0 {
                return Ok(());
            }
            left = Some(remaining);
        }
    }
}
