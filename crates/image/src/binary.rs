//! What an ELF file runs on, and whether it runs alone.

use crate::Platform;

/// A program for an image that has nothing but it.
///
/// ```
/// use steersman_image::Binary;
///
/// let error = Binary::new(b"#!/bin/sh\n".to_vec()).unwrap_err();
/// assert_eq!(error.to_string(), "it is no program of Linux");
/// ```
#[derive(Clone, Debug)]
pub struct Binary {
    platform: Platform,
    content: Vec<u8>,
}

/// Why a file is no such program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// Something else, or cut off.
    #[error("it is no program of Linux")]
    NotElf,
    /// For a processor that Kubernetes does not run on.
    #[error("it is for a processor that operators are not built for (ELF machine {0})")]
    Processor(u16),
    /// It needs a loader, and with it shared libraries.
    #[error("it is linked dynamically and needs {loader}, which an image with nothing but the program lacks")]
    Dynamic {
        /// The loader that it names.
        loader: String,
    },
}

/// Fields of an ELF file, read in its byte order and never beyond its end.
struct Reader<'a> {
    content: &'a [u8],
    is_little: bool,
}

/// The only processors of 64 bits that Kubernetes is released for.
const MACHINES: &[(u16, &str)] = &[(62, "amd64"), (183, "arm64"), (21, "ppc64le"), (22, "s390x")];
/// The type of the segment with the name of the loader.
const PT_INTERP: u32 = 3;

impl Binary {
    /// Looks at a program: the headers of the ELF format (System V gABI, chapters 4 and 5).
    ///
    /// # Errors
    /// It is no ELF program, is for another processor, or needs a loader.
    pub fn new(content: Vec<u8>) -> Result<Self, BinaryError> {
        let is_little = match content.get(..7) {
            Some([0x7f, b'E', b'L', b'F', 2, 1, 1]) => true,
            Some([0x7f, b'E', b'L', b'F', 2, 2, 1]) => false,
            _ => return Err(BinaryError::NotElf),
        };
        let reader = Reader {
            content: &content,
            is_little,
        };
        let (machine, loader) = reader.program().ok_or(BinaryError::NotElf)?;
        let name = MACHINES.iter().find(|(number, _)| *number == machine);
        let (_, name) = name.ok_or(BinaryError::Processor(machine))?;
        if let Some(loader) = loader {
            return Err(BinaryError::Dynamic { loader });
        }
        Ok(Self {
            platform: Platform::linux(name),
            content,
        })
    }

    /// Linux on the processor that the ELF header names.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The file as it was given.
    pub fn content(&self) -> &[u8] {
        &self.content
    }
}

impl Reader<'_> {
    /// The processor, and the loader where one is named. Nothing where it is no program, or cut off.
    fn program(&self) -> Option<(u16, Option<String>)> {
        let is_program = matches!(self.number(16, 2)?, 2 | 3);
        let machine = self.number(18, 2)? as u16;
        let (table, size, count) = (self.number(32, 8)?, self.number(54, 2)?, self.number(56, 2)?);
        if !is_program || size < 56 {
            return None;
        }
        for index in 0..count {
            let header = usize::try_from(table.checked_add(index * size)?).ok()?;
            if self.number(header, 4)? != u64::from(PT_INTERP) {
                continue;
            }
            let start = usize::try_from(self.number(header.checked_add(8)?, 8)?).ok()?;
            let length = usize::try_from(self.number(header.checked_add(32)?, 8)?).ok()?;
            let name = self.content.get(start..start.checked_add(length)?)?;
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            return Some((machine, Some(String::from_utf8_lossy(name).into_owned())));
        }
        Some((machine, None))
    }

    fn number(&self, start: usize, length: usize) -> Option<u64> {
        let bytes = self.content.get(start..start.checked_add(length)?)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.is_little {
            bytes.iter().rev().fold(0, add)
        } else {
            bytes.iter().fold(0, add)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program for this machine, with these types of segments.
    fn elf(machine: u16, is_little: bool, segments: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56 * segments.len()];
        bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, if is_little { 1 } else { 2 }, 1]);
        let mut put = |start: usize, length: usize, number: u64| {
            for index in 0..length {
                let shift = 8 * if is_little { index } else { length - 1 - index };
                bytes[start + index] = (number >> shift) as u8;
            }
        };
        put(16, 2, 3);
        put(18, 2, machine.into());
        put(32, 8, 64);
        put(54, 2, 56);
        put(56, 2, segments.len() as u64);
        for (index, kind) in segments.iter().enumerate() {
            let header = 64 + 56 * index;
            put(header, 4, (*kind).into());
            put(header + 8, 8, 1);
            put(header + 32, 8, 3);
        }
        bytes
    }

    fn check(content: Vec<u8>, expect: Result<&str, BinaryError>) {
        let read = Binary::new(content).map(|binary| binary.platform().to_string());
        assert_eq!(read, expect.map(str::to_owned));
    }

    #[test]
    fn static_programs_say_what_they_run_on() {
        check(elf(62, true, &[1, 2]), Ok("linux/amd64"));
        check(elf(183, true, &[]), Ok("linux/arm64"));
        check(elf(22, false, &[1]), Ok("linux/s390x"));
        check(elf(3, true, &[1]), Err(BinaryError::Processor(3)));
    }

    #[test]
    fn a_program_that_needs_a_loader_is_refused() {
        let loader = "ELF".to_owned();
        check(
            elf(62, true, &[6, PT_INTERP]),
            Err(BinaryError::Dynamic { loader }),
        );
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let error = Binary::new(own).map(|_| ());
        assert_eq!(
            matches!(error, Err(BinaryError::Dynamic { .. })),
            !cfg!(target_feature = "crt-static"),
            "{error:?}"
        );
    }

    #[test]
    fn what_is_cut_off_anywhere_is_no_program() {
        let whole = elf(62, true, &[1, PT_INTERP]);
        for length in 0..whole.len() - 56 {
            check(whole[..length].to_vec(), Err(BinaryError::NotElf));
        }
        let mut far = whole.clone();
        far[32..40].fill(0xff);
        check(far, Err(BinaryError::NotElf));
        check(b"#!/bin/sh\n".to_vec(), Err(BinaryError::NotElf));
    }
}
