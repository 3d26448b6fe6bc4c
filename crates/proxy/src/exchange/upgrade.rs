//! Sessions in pods: the client goes on with SPDY or WebSocket, and the bytes of both sides are copied.

use std::io;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use super::{Exchange, Outcome};
use crate::body::{empty, from_client, passing};
use crate::observe::Origin;
use crate::refusal::Refusal;
use crate::request::{Call, to_client, to_server};
use crate::run::ActiveRun;
use crate::upstream::Patience;

/// Both sides of a session that begins when its answer is sent.
#[derive(Debug)]
pub(crate) struct Session {
    client: OnUpgrade,
    server: OnUpgrade,
}

impl Session {
    /// Copies what comes until both sides have ended.
    ///
    /// # Cancellation
    /// The session ends when this is dropped, on both sides.
    pub(crate) async fn copy(self) -> io::Result<()> {
        let failed = io::Error::other::<hyper::Error>;
        let client = self.client.await.map_err(failed)?;
        let server = self.server.await.map_err(failed)?;
        tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(server)).await?;
        Ok(())
    }
}

impl Exchange {
    /// Sends on the request for a session. What the server answers to it decides whether there is one.
    pub(super) async fn upgrade(
        &self,
        run: &ActiveRun,
        call: &Call,
        mut request: Request<Incoming>,
        protocol: HeaderValue,
    ) -> Result<Outcome, Refusal> {
        let client = hyper::upgrade::on(&mut request);
        let (head, body) = request.into_parts();
        let mut headers = to_server(&head.headers);
        set_upgrade(&mut headers, protocol);
        let request = self.request(call, head.method, headers, from_client(body))?;
        self.ask(run, call)?;
        let mut answer = self
            .upstream
            .send(request, run.impersonated.as_ref(), Patience::Endless)
            .await?;
        self.tell(run, Origin::Client, call, answer.status().as_u16(), None);
        let server = hyper::upgrade::on(&mut answer);
        let (mut head, body) = answer.into_parts();
        let agreed = head.headers.get(UPGRADE).cloned();
        head.headers = to_client(&head.headers);
        let Some(agreed) = agreed.filter(|_| head.status == StatusCode::SWITCHING_PROTOCOLS) else {
            return Ok((Response::from_parts(head, passing(body)), None));
        };
        set_upgrade(&mut head.headers, agreed);
        Ok((
            Response::from_parts(head, empty()),
            Some(Session { client, server }),
        ))
    }
}

fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, protocol);
}
