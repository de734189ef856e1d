//! The connections of a server: no more than it has room for, and none of them ends it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, Sleep};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

/// Connections that are open at the same time; further ones are closed at once. File descriptors are the limit of a
/// process, and it needs others.
const MAX_CONNECTIONS: usize = 256;
/// Pause after a connection that could not be taken, for example because there is no file descriptor.
const PAUSE: Duration = Duration::from_millis(50);

/// A connection that is counted as long as it is open.
pub struct Connection<S> {
    socket: S,
    _place: OwnedSemaphorePermit,
}

/// The connections that come, without those that cannot be taken.
pub struct Connections<I> {
    incoming: I,
    places: Arc<Semaphore>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<I> Connections<I> {
    pub fn new(incoming: I) -> Connections<I> {
        Connections { incoming, places: Arc::new(Semaphore::new(MAX_CONNECTIONS)), pause: None }
    }
}

impl<S, I: Stream<Item = io::Result<S>> + Unpin> Stream for Connections<I> {
    type Item = io::Result<Connection<S>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            match ready!(Pin::new(&mut self.incoming).poll_next(context)) {
                None => return Poll::Ready(None),
                Some(Err(_)) => self.pause = Some(Box::pin(sleep(PAUSE))),
                Some(Ok(socket)) => {
                    if let Ok(_place) = self.places.clone().try_acquire_owned() {
                        return Poll::Ready(Some(Ok(Connection { socket, _place })));
                    }
                }
            }
        }
    }
}

impl<S: Connected> Connected for Connection<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.socket.connect_info()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
