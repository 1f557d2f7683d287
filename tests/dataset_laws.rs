//! Laws of the expressions and sides of data sets. What expressions select is in `tests/dataset/expressions.txt`.
#![cfg(feature = "server")]
#![expect(clippy::unwrap_used, reason = "a test")]

use jiff::Timestamp;
use proptest::prelude::*;
use spanbridge::dataset::expression::{Fault, Field, NumberField, Pattern, Relation, Sameness, TextField};
use spanbridge::dataset::{Expression, Split};
use spanbridge::run::RunStatus;
use spanbridge::span::UnixNanos;

fn moment(text: &str) -> Result<u64, String> {
    let moment: Timestamp = text.parse().map_err(|_| "a moment".to_owned())?;
    u64::try_from(moment.as_nanosecond()).map_err(|_| "a moment since 1970".to_owned())
}

fn parse(text: &str) -> Result<Expression, spanbridge::dataset::ExpressionError> {
    Expression::parse(text, &moment)
}

fn field() -> impl Strategy<Value = Field> {
    use {NumberField as Number, TextField as Text};
    let plain = vec![
        Field::Status,
        Field::Duration,
        Field::Start,
        Field::Text(Text::Agent),
        Field::Text(Text::Tag),
        Field::Text(Text::Session),
        Field::Text(Text::Error),
        Field::Number(Number::TokensIn),
        Field::Number(Number::TokensTotal),
        Field::Number(Number::Cost),
        Field::Number(Number::Reward),
        Field::Number(Number::ToolCalls),
    ];
    let judged = prop_oneof!["[a-z_.]{1,6}", ".{1,6}"];
    prop_oneof![
        3 => proptest::sample::select(plain),
        1 => judged.clone().prop_map(|name| Field::Text(Text::Label(name))),
        1 => judged.prop_map(|name| Field::Number(Number::Score(name))),
    ]
}

fn relation() -> impl Strategy<Value = Relation> {
    use Relation::{AtLeast, AtMost, Different, Equal, Less, More};
    proptest::sample::select(vec![Equal, Different, Less, AtMost, More, AtLeast])
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![proptest::num::f64::NORMAL, (0..800u32).prop_map(|eighths| f64::from(eighths) / 8.0)]
}

fn comparison() -> impl Strategy<Value = Expression> {
    let sameness = proptest::sample::select(vec![Sameness::Equal, Sameness::Different]);
    let status = proptest::sample::select(RunStatus::ALL.to_vec());
    let at = 0..4_102_444_800_000_000_000u64;
    let asked = (field(), any::<bool>(), any::<bool>());
    let given = (asked, sameness, relation(), ".{0,8}", number(), at, any::<u64>(), status);
    given.prop_map(
        |((field, asks, is_like), sameness, relation, text, number, at, nanos, status)| match field {
            field if asks => Expression::Has(field),
            Field::Status => Expression::Status(sameness, status),
            Field::Text(field) if is_like => Expression::Like(field, Pattern::new(&text).unwrap()),
            Field::Text(field) => Expression::Text(field, sameness, text),
            Field::Number(field) => Expression::Number(field, relation, number),
            Field::Duration => Expression::Duration(relation, nanos),
            Field::Start => Expression::Start(relation, UnixNanos(at)),
        },
    )
}

fn expression() -> impl Strategy<Value = Expression> {
    comparison().prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Expression::All),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Expression::Any),
            inner.prop_map(|one| Expression::Not(Box::new(one))),
        ]
    })
}

proptest! {
    #[test]
    fn an_expression_reads_as_it_is_printed(expression in expression()) {
        let text = expression.to_string();
        let read = parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(read, expression, "{}", text);
    }

    #[test]
    fn no_text_is_a_panic_and_each_error_points_into_it(text in "([a-z.]{0,6}|has|not|and|[()=<>!~\"'\\\\ ]|\\PC){0,12}") {
        if let Err(error) = parse(&text) {
            prop_assert!(text.get(error.place()).is_some(), "{}", error);
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn brackets_may_not_stand_in_one_another_without_end() {
    let deep = |depth: usize| format!("{}status = ok{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&deep(100)).is_ok());
    let error = parse(&deep(100_000)).unwrap_err();
    assert_eq!(error.fault(), &Fault::Depth { limit: 100 });
    assert!(parse(&"not ".repeat(100_000)).is_err());
}

/// The fields that an error lists are fields, and stand in the page of expressions.
#[test]
fn every_listed_field_can_be_asked_for() {
    let page = include_str!("../src/dataset/expression/mod.rs");
    let error = parse("nothing = 1").unwrap_err().to_string();
    let fields = error.split_once("The fields are ").unwrap().1.trim_end_matches('.');
    assert!(fields.split(", ").count() > 20, "{fields}");
    for name in fields.split(", ") {
        assert!(parse(&format!("has({name})")).is_ok(), "{name}");
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

fn split(text: &str) -> Split {
    text.parse().unwrap()
}

#[test]
fn wrong_sides_are_told() {
    for (text, words) in [
        ("", "NAME:RATIO"),
        ("train", "NAME:RATIO"),
        ("train:0.9,", "NAME:RATIO"),
        ("a/b:1", "letters, digits"),
        (":1", "letters, digits"),
        ("train:0.5,Train:0.5", "named twice"),
        ("train:0.9,test:0.2", "the ratios add up to 1.1, not to 1"),
        ("train:0.3,test:0.3,dev:0.3", "the ratios add up to 0.9, not to 1"),
        ("train:1,test:0", "the ratio of test"),
        ("train:-1", "the ratio of train"),
        ("train:1e0", "the ratio of train"),
        ("train:0.0000000001", "the ratio of train"),
        ("train:.", "the ratio of train"),
    ] {
        let error = text.parse::<Split>().unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
    assert_eq!(split("a:0.3333,b:.3333,c:0.33340").to_string(), "a:0.3333,b:0.3333,c:0.3334");
    assert_eq!(split(" all : 1 ").to_string(), "all:1");
}

/// As the Python of this page says: the hash may not change, or runs would move between data sets of one store.
#[test]
fn the_side_of_a_key_is_what_it_always_was() {
    let split = split("train:0.8,dev:0.1,test:0.1");
    let sides: Vec<usize> = (0..20).map(|number| split.side(&format!("chat-{number}"))).collect();
    assert_eq!(sides, PYTHON);
}

const PYTHON: [usize; 20] = [0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 0, 0, 0];

proptest! {
    #[test]
    fn every_key_is_on_one_side_and_keeps_it_when_the_first_grows(key in ".*", less in 1..999u32, more in 1..999u32) {
        let (less, more) = (less.min(more), less.max(more));
        let of = |train: u32| split(&format!("train:0.{train:03},test:0.{:03}", 1000 - train)).side(&key);
        prop_assert!(of(less) < 2 && of(more) < 2);
        prop_assert!(of(more) <= of(less), "no run goes from train to test");
        prop_assert_eq!(split("all:1").side(&key), 0);
    }
}

#[test]
fn sides_have_their_share() {
    let split = split("train:0.9,test:0.1");
    let tests = (0..10_000).filter(|number| split.side(&number.to_string()) == 1).count();
    assert!((900..1_100).contains(&tests), "{tests}");
}
