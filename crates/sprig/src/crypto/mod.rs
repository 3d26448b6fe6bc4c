//! Passwords, encryption, keys and certificates.

pub(crate) mod aes;
pub(crate) mod certificate;
mod der;
mod dsa;
pub(crate) mod key;
pub(crate) mod password;

pub use certificate::Certificate;
