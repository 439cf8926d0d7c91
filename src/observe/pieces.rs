//! An answer that is made while it is read: of a long one, a slow client holds a few pieces in memory, not all.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// The body of an answer.
pub(super) struct Pieces<I> {
    next: Option<Vec<u8>>,
    /// Made ahead too, so that an answer of one piece begins with its length.
    after: Option<Vec<u8>>,
    rest: I,
}

impl<I: Iterator<Item = Vec<u8>>> Pieces<I> {
    pub(super) fn of(mut pieces: I) -> Self {
        Self { next: pieces.next(), after: pieces.next(), rest: pieces }
    }
}

impl<I: Iterator<Item = Vec<u8>> + Unpin> Body for Pieces<I> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(piece) = self.next.take() else { return Poll::Ready(None) };
        self.next = self.after.take();
        self.after = self.rest.next();
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.next.as_ref().map_or(0, Vec::len) as u64;
        if self.after.is_some() { SizeHint::new() } else { SizeHint::with_exact(length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    fn pieces(texts: &'static [&str]) -> Pieces<impl Iterator<Item = Vec<u8>> + Unpin> {
        Pieces::of(texts.iter().map(|text| text.as_bytes().to_vec()))
    }

    #[tokio::test]
    async fn all_pieces_come_in_their_order_and_the_length_is_said_where_there_is_one() {
        for (texts, length) in [(&["a", "bc", "d"][..], None), (&["abcd"], Some(4))] {
            let body = pieces(texts);
            assert_eq!(body.size_hint().exact(), length);
            assert_eq!(body.collect().await.unwrap().to_bytes(), "abcd");
        }
        let nothing = pieces(&[]);
        assert!(nothing.is_end_stream() && nothing.size_hint().exact() == Some(0));
    }
}
