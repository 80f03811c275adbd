//! A way to a server that ends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Passes on what is sent to a server, until that is more than so many bytes.
pub(crate) struct Proxy {
    pub(crate) port: u16,
}

/// What it does from then on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It closes all connections, also new ones.
    Closes,
    /// It takes everything, and says nothing.
    FallsSilent,
}

impl Proxy {
    pub(crate) fn start(target: u16, limit: usize, end: End) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let left = Arc::new(AtomicUsize::new(limit));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if left.load(Ordering::Relaxed) == 0 && end == End::Closes {
                    continue;
                }
                let server = TcpStream::connect(("127.0.0.1", target)).unwrap();
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || pass(back.0, back.1, &AtomicUsize::new(usize::MAX), end));
                let left = left.clone();
                thread::spawn(move || pass(client, server, &left, end));
            }
        });
        Self { port }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicUsize, end: End) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let rest = left.load(Ordering::Relaxed).saturating_sub(n);
        left.store(rest, Ordering::Relaxed);
        match (rest, end) {
            (0, End::Closes) => break,
            (0, End::FallsSilent) => {}
            _ if to.write_all(&buffer[..n]).is_err() => break,
            _ => {}
        }
    }
    // Either may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
