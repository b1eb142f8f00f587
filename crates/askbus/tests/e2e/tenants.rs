//! Two tenants with equal session names, and two profiles: nothing crosses.

use crate::support::{BINARY, ask, choose, credential};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, NatsServer, Person, Process, Socket, Team};
use askbus_wire::client::{Client, Target};
use askbus_wire::proto::{CancelRequest, GetClarificationRequest, ListPendingRequest, WaitRequest};
use serde_json::{Value, json};

struct Side {
    question: String,
    asking: Process,
    agent: Client,
    host: Client,
    person: Person,
    socket: Socket,
    clarify_id: String,
}

async fn side(team: &Team, gateway: &str, tenant: &str, profile: &str) -> Result<Side> {
    let question = format!("Secret of {tenant}/{profile}?");
    // The same names everywhere: session, agent, person.
    let session = if profile == "p2" { "second" } else { "session" };
    let token = team.credential("agent", tenant, profile, "agent").await?;
    let askbus = team.client(gateway, &token)?;
    let person = team.person(gateway, tenant, profile, "alice").await?;
    let mut socket = person.socket().await?;
    let args = [
        "ask",
        &question,
        "--choice",
        "yes",
        "--session",
        session,
        "--json",
    ];
    let asking = askbus.spawn(&args)?;
    let shown = socket.find(|m| m["event"] == "clarify.requested").await?;
    assert_eq!(
        shown["question"],
        question.as_str(),
        "the first question it hears is its own"
    );
    let clarify_id = shown["clarify_id"].as_str().unwrap_or_default().to_owned();
    let agent = Client::new(&Target::Url(gateway.to_owned()), &token)?;
    let token = team.credential("host", tenant, profile, "agent").await?;
    let host = Client::new(&Target::Url(gateway.to_owned()), &token)?;
    Ok(Side {
        question,
        asking,
        agent,
        host,
        person,
        socket,
        clarify_id,
    })
}

fn mentions(value: &impl std::fmt::Debug, side: &Side) -> bool {
    let text = format!("{value:?}");
    text.contains(&side.question) || text.contains(&side.clarify_id)
}

// contract: E5 E6 D10
#[tokio::test]
async fn nothing_crosses_between_tenants_or_profiles() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let url = gateway.address.as_str();
    let mut sides = Vec::new();
    for (tenant, profile) in [("acme", "p1"), ("globex", "p1"), ("acme", "p2")] {
        sides.push(side(&team, url, tenant, profile).await?);
    }

    // While all three wait: each sees exactly its own, on every way to look.
    for n in 0..sides.len() {
        let (person, own) = (sides[n].person.clone(), sides[n].clarify_id.clone());
        let mut agent = sides[n].agent.clone();
        let list = person
            .get("/api/clarifications?status=pending&limit=1000")
            .await?
            .body;
        let named = person
            .get("/api/clarifications?status=pending&session=session")
            .await?
            .body;
        let waiting = person.get("/api/clarify/waiting").await?.body;
        let health = person.get("/api/clarify/health").await?.body;
        let mut host = sides[n].host.clone();
        let everything = host
            .clarify
            .list_pending(ListPendingRequest::default())
            .await?;
        let in_session = ListPendingRequest {
            session_id: "session".to_owned(),
        };
        let in_session = host.clarify.list_pending(in_session).await?;
        assert_eq!(health["pending"], 1, "{health}");
        assert_eq!(
            waiting["sessions"].as_array().map(Vec::len),
            Some(1),
            "{waiting}"
        );
        assert_eq!(waiting["sessions"][0]["count"], 1);
        assert_eq!(list["clarifications"][0]["clarify_id"], own.as_str());
        assert_eq!(everything.get_ref().clarifications.len(), 1);
        assert_eq!(everything.get_ref().clarifications[0].clarify_id, own);
        for (m, other) in sides.iter().enumerate().filter(|(m, _)| *m != n) {
            let label = format!("{} sees {}", sides[n].question, other.question);
            for seen in [&list, &named, &waiting] {
                assert!(!mentions(seen, other), "{label}: {seen}");
            }
            assert!(!mentions(in_session.get_ref(), other), "{label}");
            let path = format!("/api/clarifications/{}", other.clarify_id);
            let unknown = person
                .get("/api/clarifications/01890000-0000-7000-8000-000000000000")
                .await?;
            for reply in [
                person.get(&path).await?,
                person
                    .post(&format!("{path}/answer"), &choose("o1"))
                    .await?,
                person.post(&format!("{path}/hold"), &json!({})).await?,
            ] {
                assert_eq!((reply.status, &reply.body), (404, &unknown.body), "{label}");
            }
            let clarify_id = other.clarify_id.clone();
            let get = GetClarificationRequest {
                clarify_id: clarify_id.clone(),
            };
            let refused = agent.clarify.get_clarification(get).await.map(drop);
            assert_eq!(
                refused.map_err(|s| s.code()),
                Err(tonic::Code::NotFound),
                "{label} {m}"
            );
            let wait = agent
                .clarify
                .wait(WaitRequest {
                    clarify_id,
                    asker_id: None,
                })
                .await
                .map(drop);
            assert_eq!(
                wait.map_err(|s| s.code()),
                Err(tonic::Code::NotFound),
                "{label}"
            );
        }
    }

    // A socket that names somebody else's question.
    let foreign = sides[1].clarify_id.clone();
    sides[0]
        .socket
        .send(&json!({"event": "clarify.respond", "clarify_id": foreign, "response": "yes"}))
        .await?;
    let refused = sides[0].socket.find(|m| m["resolved"] == false).await?;
    assert_eq!(refused["reason"], "UNKNOWN_CLARIFICATION", "{refused}");

    // Each is answered in turn; each history then holds its own and nothing else.
    for side in &mut sides {
        let reply = side.person.answer(&side.clarify_id, &choose("o1")).await?;
        assert_eq!(reply.status, 200, "{reply:?}");
        let own = side.clarify_id.clone();
        side.socket
            .find(|m| m["event"] == "clarify.resolved" && m["clarify_id"] == own.as_str())
            .await?;
        let done = side.asking.end().await?;
        assert_eq!(done.code, 0, "{done:?}");
    }
    for n in 0..sides.len() {
        let history = sides[n].person.settled().await?;
        assert_eq!(history.len(), 1, "{history:?}");
        assert_eq!(history[0]["clarify_id"], sides[n].clarify_id.as_str());
        // A fence post, so that everything sent before it has been heard.
        let fence = json!({"event": "clarify.respond", "clarify_id": "fence", "response": "x"});
        sides[n].socket.send(&fence).await?;
        sides[n].socket.find(|m| m["clarify_id"] == "fence").await?;
        let heard: Vec<&Value> = sides[n]
            .socket
            .heard()
            .iter()
            .filter(|m| m["resolved"] != false)
            .collect();
        for (_, other) in sides.iter().enumerate().filter(|(m, _)| *m != n) {
            assert!(
                !mentions(&heard, other),
                "{} heard of {}",
                sides[n].question,
                other.question
            );
        }
    }
    Ok(())
}

// contract: E6
#[tokio::test]
async fn a_session_belongs_to_the_profile_that_first_used_it() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let first = team.credential("host", "acme", "p1", "host").await?;
    let second = team.credential("host", "acme", "p2", "host").await?;
    let begin = ["turn", "begin", "--session", "shared", "--for", "10m"];
    let done = team.client(&binding.address, &first)?.run(&begin).await?;
    assert_eq!(done.code, 0, "{done:?}");
    let context = done.stdout.trim().to_owned();
    let done = team.client(&binding.address, &second)?.run(&begin).await?;
    assert_eq!(done.code, 64, "another profile of the tenant: {done:?}");
    let agent = team.credential("agent", "acme", "p2", "agent").await?;
    let askbus = team
        .client(&binding.address, &agent)?
        .env("ASKBUS_CONTEXT", context);
    assert_eq!(askbus.run(&["ask", "Mine?"]).await?.code, 64);
    // Another tenant's session of that name is another session.
    let third = team.credential("host", "globex", "p2", "host").await?;
    let done = team.client(&binding.address, &third)?.run(&begin).await?;
    assert_eq!(done.code, 0, "{done:?}");
    Ok(())
}

// contract: E5 E6
#[tokio::test]
async fn an_agent_that_knows_a_questions_id_may_read_and_withdraw_it_and_lists_none() -> Result<()>
{
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (mut asking, clarify_id) = ask(up.askbus(), &person, "Whose?", &["--json"]).await?;
    let grpc = async |profile: &str| {
        let token = credential(&up, "agent", profile, "another").await?;
        Ok::<_, anyhow::Error>(Client::new(&Target::Url(up.url().to_owned()), &token)?)
    };
    let get = || GetClarificationRequest {
        clarify_id: clarify_id.clone(),
    };
    let cancel = || CancelRequest {
        clarify_id: clarify_id.clone(),
    };
    let (mut other, mut foreign) = (grpc("default").await?, grpc("foreign").await?);
    for agent in [&mut other, &mut foreign] {
        let listed = agent.clarify.list_pending(ListPendingRequest::default());
        let refused = listed.await.err().context("it lists")?;
        assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused}");
    }
    // Of another profile even the id is nothing.
    let read = foreign.clarify.get_clarification(get()).await;
    assert_eq!(
        read.err().context("it reads")?.code(),
        tonic::Code::NotFound
    );
    let withdrawn = foreign.clarify.cancel(cancel()).await;
    assert_eq!(
        withdrawn.err().context("it withdraws")?.code(),
        tonic::Code::NotFound
    );
    assert_eq!(person.pending().await?.len(), 1);

    let read = other.clarify.get_clarification(get()).await?.into_inner();
    assert_eq!(read.status, "pending");
    other.clarify.cancel(cancel()).await?;
    assert_eq!(asking.end().await?.code, 13);
    Ok(())
}
