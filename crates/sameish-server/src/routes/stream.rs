//! Response bodies that are written while they are sent.

use axum::body::HttpBody;
use bytes::Bytes;
use hyper::body::Frame;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// A body that receives its parts from a task. An error breaks the connection, so that the client does not mistake an incomplete
/// response for a complete one.
pub(super) enum ChannelBody {
    Events(mpsc::Receiver<Bytes>),
    Lines(mpsc::Receiver<io::Result<Bytes>>),
}

impl ChannelBody {
    pub(super) fn events(receiver: mpsc::Receiver<Bytes>) -> ChannelBody {
        ChannelBody::Events(receiver)
    }

    pub(super) fn lines(receiver: mpsc::Receiver<io::Result<Bytes>>) -> ChannelBody {
        ChannelBody::Lines(receiver)
    }
}

impl HttpBody for ChannelBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = match &mut *self {
            ChannelBody::Events(receiver) => receiver.poll_recv(cx).map(|bytes| bytes.map(Ok)),
            ChannelBody::Lines(receiver) => receiver.poll_recv(cx),
        };
        next.map(|part| part.map(|bytes| bytes.map(Frame::data)))
    }
}
