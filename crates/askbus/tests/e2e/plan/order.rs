//! Several writers of one plan: one order without gaps.

use super::{begin, plans};
use crate::support::{BINARY, credential};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, NatsServer, Person, Service, Team};
use askbus_wire::client::{Client, Target};
use askbus_wire::proto::{UpdatePlanRequest, update_plan_request::Input};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

async fn many_updates(address: &str, token: &str, person: &Person, each: u64) -> Result<()> {
    let host = Person::bearer(address, token)?;
    let context = begin(&host, json!({"session_id": "busy", "for_ms": 600_000})).await?;
    let mut socket = person.socket().await?;
    socket.find(|m| m["event"] == "ready").await?;
    let target: Target = address.parse()?;
    let writer = |name: &'static str| {
        let (target, token, context) = (target.clone(), token.to_owned(), context.clone());
        tokio::spawn(async move {
            let mut plans = Client::new(&target, &token)?.plans;
            let mut order = BTreeMap::new();
            for n in 0..each {
                let plan =
                    json!({"plan": [{"id": name, "step": n.to_string(), "status": "pending"}]});
                let request = UpdatePlanRequest {
                    context_id: context.clone(),
                    input: Some(Input::ArgumentsJson(plan.to_string())),
                    ..UpdatePlanRequest::default()
                };
                let shown = loop {
                    match plans.update(request.clone()).await {
                        Ok(shown) => break shown.into_inner().plan,
                        // Too fast for one caller: nothing was done.
                        Err(status) if status.code() == tonic::Code::ResourceExhausted => {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                        Err(status) => return Err(status.into()),
                    }
                };
                let shown = shown.context("a plan")?;
                order.insert(shown.revision, shown.plan[0].step.clone());
            }
            anyhow::Ok(order)
        })
    };
    let (one, two) = (writer("one"), writer("two"));
    let follower = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(object) = socket.next().await? {
            if object["event"] == "plan.updated" {
                let last = object["revision"] == 2 * each;
                seen.push(object);
                if last {
                    return Ok(seen);
                }
            }
        }
        anyhow::bail!("the socket was closed")
    });
    let (one, two) = (one.await??, two.await??);
    // Each writer's own updates stand in their order, and no revision is anybody else's.
    for order in [&one, &two] {
        let steps: Vec<&String> = order.values().collect();
        let expected: Vec<String> = (0..each).map(|n| n.to_string()).collect();
        assert_eq!(steps, expected.iter().collect::<Vec<_>>());
    }
    let mut revisions: Vec<u64> = one.keys().chain(two.keys()).copied().collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=2 * each).collect::<Vec<_>>());
    let seen = follower.await??;
    let revisions = seen.iter().filter_map(|m| m["revision"].as_u64());
    assert!(revisions.is_sorted(), "in the order of the log");
    let last = seen.last().context("it saw nothing")?;
    let listed = plans(person).await?;
    assert_eq!(
        (&listed[0]["revision"], &listed[0]["plan"]),
        (&last["revision"], &last["plan"])
    );
    Ok(())
}

// contract: E16
#[tokio::test]
async fn ten_thousand_updates_of_two_writers_have_one_order_without_gaps() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let token = credential(&up, "host", "default", "studio").await?;
    many_updates(up.url(), &token, &up.person().await?, 5_000).await
}

// contract: E16
#[tokio::test]
async fn two_writers_on_two_replicas_have_one_order_without_gaps() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let (one, two) = (
        team.session_binding(&nats).await?,
        team.session_binding(&nats).await?,
    );
    let both: Vec<&Service> = vec![&one, &two];
    let list: Vec<&str> = both.iter().map(|s| s.address.as_str()).collect();
    let gateway = team.gateway(&nats, &list.join(",")).await?;
    let token = team.credential("host", "acme", "default", "ci").await?;
    let ann = team
        .person(&gateway.address, "acme", "default", "ann")
        .await?;
    many_updates(&gateway.address, &token, &ann, 300).await
}
