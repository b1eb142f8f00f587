//! Asking, hearing the outcome, withdrawing, looking up.

use crate::agent::{code, outcome, question};
use crate::world::{TENANT, World, says, verdict};
use askbus_domain::Reason;
use askbus_wire::error::ErrorCode;
use askbus_wire::messages::{InboxBody, InboxReply};
use askbus_wire::proto::BeginTurnRequest;
use askbus_wire::proto::ask_request::Input;
use askbus_wire::proto::attach_event::Event;
use askbus_wire::proto::{ChoiceInput, QuestionInput, QuestionInputs};

on_both!(
    an_answer_reaches_the_attached_asker,
    waiting_and_withdrawing,
    a_question_of_an_earlier_turn_is_found_in_the_log,
    repeating_an_id_returns_the_first_outcome,
    sessions_with_odd_ids,
    a_new_session_begins_after_others_were_idle,
);

// contract: E9, E10
async fn an_answer_reaches_the_attached_asker(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let mut attachment = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    let choice = |label: &str| ChoiceInput {
        label: label.to_owned(),
        description: String::new(),
    };
    let questions = QuestionInputs {
        questions: vec![QuestionInput {
            header: "Colour".into(),
            question: "Which colour?".into(),
            options: vec![choice("red"), choice("blue")],
            recommended: Some(1),
            ..QuestionInput::default()
        }],
    };
    let request = agent.ask_request(&context, "ask", Some(Input::Questions(questions)));
    let asked = agent.try_ask(request).await.unwrap();
    assert_eq!(asked.session_id, "s");
    assert_eq!(asked.deadline_ms, None);
    assert!(asked.cap_ms > asked.requested_at_ms);
    let shown = agent.get(&asked.clarify_id).await;
    assert_eq!(shown.status, "pending");
    assert_eq!(shown.context_id, context);
    assert_eq!(shown.questions[0].recommended, "o2");
    assert_eq!(
        world.host(&replica).pending("s").await,
        vec![asked.clarify_id.clone()]
    );

    let mut response = says("ann", "");
    response.answers[0].option_ids = vec![askbus_domain::OptionId::new("o1").unwrap()];
    let reply = world.answer("s", &asked.clarify_id, response).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    let resolved = attachment.resolved().await;
    assert_eq!(resolved.clarify_id, asked.clarify_id);
    let outcome = outcome(&resolved);
    assert_eq!(
        (outcome.reason.as_str(), outcome.decided_by.as_str()),
        ("response", "person")
    );
    assert_eq!(outcome.actor.as_ref().unwrap().person, "ann");
    assert_eq!(outcome.answers[0].options[0].label, "red");
    assert_eq!(world.host(&replica).pending("").await, Vec::<String>::new());
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 1);
    replica.stop().await;
}

// contract: E11
async fn waiting_and_withdrawing(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let answered = agent.ask(&context, "first?").await;
    let withdrawn = agent.ask(&context, "second?").await;

    let waits = tokio::join!(agent.try_wait(&answered), async {
        world.answer("s", &answered, says("ann", "yes")).await
    });
    assert_eq!(
        outcome(&waits.0.unwrap()).answers[0].text.as_deref(),
        Some("yes")
    );

    let (waited, cancelled) =
        tokio::join!(agent.try_wait(&withdrawn), agent.try_cancel(&withdrawn));
    for clarification in [waited.unwrap(), cancelled.unwrap()] {
        let outcome = outcome(&clarification);
        assert_eq!(
            (outcome.reason.as_str(), outcome.cause.as_str()),
            ("cancelled", "withdrawn")
        );
        assert_eq!(outcome.decided_by, "system");
    }
    // Withdrawing what is settled changes nothing.
    let again = agent.try_cancel(&answered).await.unwrap();
    assert_eq!(outcome(&again).reason, "response");
    assert_eq!(world.resolutions("s", &answered).await, 1);
    let unknown = agent.try_wait(&uuid::Uuid::now_v7().to_string()).await;
    assert_eq!(code(&unknown.unwrap_err()), ErrorCode::UnknownClarification);
    let malformed = agent.try_get("nonsense").await;
    assert_eq!(
        code(&malformed.unwrap_err()),
        ErrorCode::UnknownClarification
    );
    replica.stop().await;
}

async fn a_question_of_an_earlier_turn_is_found_in_the_log(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let old = agent.ask(&context, "before?").await;
    world.answer("s", &old, says("ann", "kept")).await;
    agent.begin("s").await;
    agent.begin("s").await;
    let found = agent.get(&old).await;
    assert_eq!(found.session_id, "s");
    assert_eq!(outcome(&found).answers[0].text.as_deref(), Some("kept"));
    let waited = agent.try_wait(&old).await.unwrap();
    assert_eq!(waited, found);
    // Attaching with it open tells of it at once.
    let mut attachment = agent.attach(&[&old, "nonsense"]).await;
    assert_eq!(attachment.resolved().await, found);
    let unknown = attachment.next().await;
    assert_eq!(unknown, Some(Event::UnknownClarifyId("nonsense".into())));
    // Another profile does not find it.
    let stranger = world.agent_of(&replica, TENANT, "other");
    let refused = stranger.try_get(&old).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::UnknownClarification);
    replica.stop().await;
}

async fn repeating_an_id_returns_the_first_outcome(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let elsewhere = agent.moved(&world.agent(&two));
    let begin = BeginTurnRequest {
        begin_id: "begin-1".into(),
        session_id: "s".into(),
        run_id: "run-1".into(),
        ..BeginTurnRequest::default()
    };
    let first = agent.try_begin(begin.clone()).await.unwrap();
    assert_eq!(first.run_id, "run-1");
    let again = BeginTurnRequest {
        run_id: "run-2".into(),
        ..begin
    };
    assert_eq!(elsewhere.try_begin(again).await.unwrap(), first);

    let mut ask = agent.ask_request(&first.context_id, "ask", question("one?"));
    ask.ask_id = "ask-1".into();
    let asked = agent.try_ask(ask.clone()).await.unwrap();
    ask.input = Some(question("two?"));
    assert_eq!(elsewhere.try_ask(ask.clone()).await.unwrap(), asked);
    world
        .answer("s", &asked.clarify_id, says("ann", "yes"))
        .await;
    // Settled is no reason to ask anew either; how it ended is told with it.
    let settled = agent.try_ask(ask).await.unwrap();
    assert_eq!(settled.clarify_id, asked.clarify_id);
    let outcome = settled.settled.and_then(|settled| settled.outcome);
    assert_eq!(outcome.expect("it is settled").reason, "response");
    let kinds: Vec<_> = world
        .events("s")
        .await
        .iter()
        .map(|e| e.kind().as_str())
        .collect();
    assert_eq!(kinds, ["begun", "requested", "resolved"]);
    one.stop().await;
    two.stop().await;
}

async fn sessions_with_odd_ids(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let host = world.host(&replica);
    let mut attachment = agent.attach(&[]).await;
    for name in [
        "a.b.c",
        "two words",
        "会话·一",
        "*",
        ">",
        "%2E",
        "a/b?c#d",
        "🙂",
    ] {
        let context = agent.begin(name).await;
        let id = agent.ask(&context, "here?").await;
        assert_eq!(host.pending(name).await, vec![id.clone()], "{name}");
        let reply = world.answer(name, &id, says("ann", name)).await;
        assert!(
            matches!(reply, InboxReply::Settled { .. }),
            "{name}: {reply:?}"
        );
        let resolved = attachment.resolved().await;
        assert_eq!(
            (resolved.session_id.as_str(), resolved.clarify_id.as_str()),
            (name, id.as_str())
        );
        assert_eq!(outcome(&resolved).answers[0].text.as_deref(), Some(name));
        agent.begin(name).await;
        assert_eq!(agent.get(&id).await, resolved, "{name}");
    }
    replica.stop().await;
}

async fn a_new_session_begins_after_others_were_idle(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let (agent, elsewhere) = (world.agent(&one), world.agent(&two));
    let context = agent.begin("old").await;
    let id = agent.ask(&context, "old?").await;
    // The second replica has served nobody yet and knows the context all the same.
    let other = elsewhere.ask(&context, "from elsewhere?").await;
    let fresh = elsewhere.begin("new").await;
    let new = agent.ask(&fresh, "new?").await;
    let mut all = world.host(&two).pending("").await;
    all.sort();
    assert_eq!(all, {
        let mut ids = vec![id.clone(), other, new];
        ids.sort();
        ids
    });
    let body = InboxBody::Respond(says("ann", "yes"));
    let reply = verdict(world.submit((TENANT, "old", &id), body).await).await;
    let InboxReply::Settled { outcome } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(outcome.reason, Reason::Response);
    one.stop().await;
    two.stop().await;
}
