//! A way to a server that breaks off.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Passes on what is sent to a server, until that is more than so many bytes: then it is gone for ever.
pub(crate) struct Proxy {
    pub(crate) port: u16,
}

impl Proxy {
    pub(crate) fn start(target: u16, limit: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let left = Arc::new(AtomicUsize::new(limit));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if left.load(Ordering::Relaxed) == 0 {
                    continue;
                }
                let server = TcpStream::connect(("127.0.0.1", target)).unwrap();
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || pass(back.0, back.1, &AtomicUsize::new(usize::MAX)));
                let left = left.clone();
                thread::spawn(move || pass(client, server, &left));
            }
        });
        Self { port }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicUsize) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let rest = left.load(Ordering::Relaxed).saturating_sub(n);
        left.store(rest, Ordering::Relaxed);
        if rest == 0 || to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    // Either may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
