use super::*;
use crate::run::id::Id;
use crate::run::model::Entry;
use crate::run::testing::step;

#[test]
fn the_first_question_and_the_last_answer() {
    let (first, second) = (StepId::FIRST, StepId::new(1));
    let call = |start| step(String::new(), Kind::Llm, "", UnixNanos(start), UnixNanos(start + 5));
    let steps: IdVec<StepId, Step> = [call(10), call(30)].into_iter().collect();
    let entry = |kind, step, at| Entry {
        kind,
        step: Some(step),
        at: UnixNanos(at),
        branch: false,
    };
    let said = |role, text: &str| Message::text(role, text);
    let conversation = vec![
        entry(EntryKind::Message(said(Role::User, "Where?")), first, 10),
        entry(EntryKind::Turn(said(Role::Assistant, "Wait.")), first, 15),
        entry(EntryKind::Turn(said(Role::Assistant, "Here.")), second, 35),
    ];
    let scope = Scope {
        is_auxiliary: true,
        conversation,
        ..Scope::default()
    };
    let mut scopes: IdVec<ScopeId, Scope> = [scope].into_iter().collect();
    let question = question(&steps, &scopes, None).map(|said| (said.content, said.step));
    assert_eq!(question, Some((Value::from("Where?"), first)));
    let (answer, _) = ending(&steps, &mut scopes, None, None);
    let answer = answer.map(|said| (said.content, said.step));
    assert_eq!(answer, Some((Value::from("Here."), second)));
    assert_eq!(
        scopes.first().map(|scope| scope.is_auxiliary),
        Some(false),
        "who answers is not auxiliary"
    );
}
