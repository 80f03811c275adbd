//! Processes of the commands, and what they tell over the network.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_tff-worker");
pub(crate) const TFF: &str = env!("CARGO_BIN_EXE_tff");

/// A process that does not outlive the test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        Ok(Self(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
    }

    /// Starts a worker on a free port, and returns the port.
    pub(crate) fn worker(args: &[&str]) -> Result<(Self, u16), Box<dyn Error>> {
        let mut process = Self::start(Command::new(WORKER).arg("--port=0").args(args))?;
        let port = process.port()?;
        Ok((process, port))
    }

    /// The port that the process prints first.
    pub(crate) fn port(&mut self) -> Result<u16, Box<dyn Error>> {
        let stdout = self.0.stdout.take().ok_or("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        Ok(line.trim().parse().map_err(|_| format!("no port: {line:?}"))?)
    }
}

pub(crate) fn free_port() -> Result<u16, Box<dyn Error>> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

pub(crate) fn scrape(address: SocketAddr) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
