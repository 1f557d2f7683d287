//! Keeps a span open until a stream or future ends, fails or is dropped, and closes it once.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tracing::Span;

use super::span_contents::DROPPED;
use super::span_ext::SpanExt as _;

/// Attaches a span to a stream or future.
///
/// ```
/// # use std::pin::Pin;
/// # use std::task::{Context, Poll};
/// # struct Tokens(Vec<&'static str>);
/// # impl futures_core::Stream for Tokens {
/// #     type Item = &'static str;
/// #     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<&'static str>> { Poll::Ready(self.0.pop()) }
/// # }
/// use spanbridge::layer::{SpanExt as _, TracedExt as _};
///
/// fn answer() -> impl futures_core::Stream<Item = &'static str> {
///     let tokens = Tokens(vec!["Oslo", "in ", "Cold "]);
///     let mut text = String::new();
///     let span = tracing::info_span!("chat", openinference.span.kind = "LLM");
///     tokens.traced(span).each(move |span, token| {
///         text.push_str(token);
///         span.set_output(&text);
///     })
/// }
/// # drop(answer());
/// ```
pub trait TracedExt: Sized {
    /// Keeps the span open until this stream or future ends, fails or is dropped, and enters it on every poll. The first item of a stream
    /// marks the time to first token. A future's result is not inspected, but a future that is dropped before completion counts as failed.
    fn traced(self, span: Span) -> Traced<Self> {
        Traced {
            open: Some(Open {
                inner: Box::pin(self),
                is_future: false,
                span: Closing(span),
            }),
        }
    }
}

impl<T> TracedExt for T {}

/// A stream or future with a span, created by [`TracedExt::traced`].
pub struct Traced<T> {
    open: Option<Open<T>>,
}

struct Open<T> {
    // Dropped before the span closes, so that the work of its destructor is part of the operation.
    inner: Pin<Box<T>>,
    /// Whether it was polled as a future, which has a single result.
    is_future: bool,
    span: Closing,
}

struct Closing(Span);

impl Drop for Closing {
    fn drop(&mut self) {
        // A span ends when it was last exited; make that now.
        self.0.in_scope(|| ());
    }
}

impl<T> Drop for Traced<T> {
    fn drop(&mut self) {
        // Dropping a stream early is not a failure: the consumer may have enough. A panic is recorded elsewhere.
        if let Some(open) = self.open.as_ref().filter(|open| open.is_future && !std::thread::panicking()) {
            open.span.0.set_failure("cancelled", DROPPED);
        }
    }
}

impl<T> fmt::Debug for Traced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced").field("span", &self.span()).finish_non_exhaustive()
    }
}

impl<T> Traced<T> {
    /// The span; `None` once it is closed.
    #[must_use]
    pub fn span(&self) -> Option<&Span> {
        self.open.as_ref().map(|open| &open.span.0)
    }
}

impl<S: Stream> Traced<S> {
    /// Calls `see` with the span and each item.
    pub fn each<F: FnMut(&Span, &S::Item)>(self, see: F) -> TracedEach<S, F> {
        TracedEach { traced: self, see }
    }
}

impl<S, T, E> Traced<S>
where
    S: Stream<Item = Result<T, E>>,
    E: fmt::Display,
{
    /// Makes the first `Err` the span's failure, and calls `see` for each `Ok`.
    pub fn try_each(self, mut see: impl FnMut(&Span, &T)) -> TracedEach<S, impl FnMut(&Span, &Result<T, E>)> {
        self.each(move |span: &Span, item: &Result<T, E>| match item {
            Ok(item) => see(span, item),
            Err(error) => {
                span.set_failure(std::any::type_name::<E>(), &error.to_string());
            }
        })
    }
}

fn poll_stream<S: Stream>(open: &mut Option<Open<S>>, cx: &mut Context<'_>, see: impl FnOnce(&Span, &S::Item)) -> Poll<Option<S::Item>> {
    let Some(state) = open else { return Poll::Ready(None) };
    let entered = state.span.0.enter();
    let polled = state.inner.as_mut().poll_next(cx);
    if let Poll::Ready(Some(item)) = &polled {
        state.span.0.mark_first_token();
        see(&state.span.0, item);
    }
    drop(entered);
    if matches!(polled, Poll::Ready(None)) {
        *open = None;
    }
    polled
}

impl<S: Stream> Stream for Traced<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        poll_stream(&mut self.open, cx, |_, _| ())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.open.as_ref().map_or((0, Some(0)), |open| open.inner.size_hint())
    }
}

impl<F: Future> Future for Traced<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(state) = &mut self.open else { return Poll::Pending };
        state.is_future = true;
        let entered = state.span.0.enter();
        let polled = state.inner.as_mut().poll(cx);
        drop(entered);
        if polled.is_ready() {
            self.open = None;
        }
        polled
    }
}

/// A stream with a span that passes each item to a function, created by [`Traced::each`] or [`Traced::try_each`].
pub struct TracedEach<S, F> {
    traced: Traced<S>,
    see: F,
}

impl<S, F> Unpin for TracedEach<S, F> {}

impl<S, F> fmt::Debug for TracedEach<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.traced, f)
    }
}

impl<S: Stream, F: FnMut(&Span, &S::Item)> Stream for TracedEach<S, F> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = &mut *self;
        poll_stream(&mut this.traced.open, cx, &mut this.see)
    }
}
