//! A recorded response: JSON, kept byte for byte.

use std::fmt;

/// A JSON text exactly as it was given: digits, key order, white space and `null` survive.
///
/// ```
/// use keysweep::record::Response;
/// let exact = r#"{"b":1,"a":12345678901234567890123,"x":1.10,"n":null}"#;
/// assert_eq!(exact.parse::<Response>().unwrap().as_str(), exact);
/// assert!("{".parse::<Response>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response(String);

/// The text is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("the response is not JSON: {0}")]
pub struct ResponseError(#[from] serde_json::Error);

impl Response {
    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A text that this table already holds.
    pub(super) fn stored(text: String) -> Self {
        Self(text)
    }
}

impl std::str::FromStr for Response {
    type Err = ResponseError;

    fn from_str(text: &str) -> Result<Self, ResponseError> {
        // Reads the whole text, builds nothing of it, and knows no depth at which it gives up.
        serde_json::from_str::<serde::de::IgnoredAny>(text)?;
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
