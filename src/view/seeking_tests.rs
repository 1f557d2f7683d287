//! Words in texts.

use super::*;

#[test]
fn words_are_found_in_any_case_wherever_they_are() {
    let is_in = |words: &str, text: &str| Sought::of(words).is_some_and(|sought| sought.is_in(text));
    for (words, text) in [
        ("Zero", "divide by ZERO"),
        ("größe", "die GRÖSSE, die GRÖßE"),
        ("ΣΑΣ", "σας σασ"),
        ("東京", "in 東京."),
        ("é", "É"),
    ] {
        assert!(is_in(words, text), "{words} in {text}");
    }
    assert!(!is_in("zeros", "zero") && !is_in("a", "") && Sought::of("").is_none());
    for before in [0, 1, STEP - 3, STEP, STEP + 1, 2 * STEP + 7] {
        for words in ["needle", "nädel"] {
            let text = format!("{}{}", "ä".repeat(before / 2) + &"x".repeat(before % 2), words.to_uppercase());
            assert!(is_in(words, &text), "{words} behind {before}");
        }
    }
    assert_eq!(
        Sought::of("b").map(|sought| sought.look(&[0xff, 0xc3, b'B'], &|| true)),
        Some(Some(true))
    );
}

#[test]
fn the_place_of_words_is_that_in_the_text_as_it_is() {
    for (words, text, found) in [
        ("zero", "divide by ZERO.", Some("ZERO")),
        ("größe", "die GRÖẞE", Some("GRÖẞE")),
        ("i̇x", "aİX", Some("İX")),
        ("b", "aaa", None),
    ] {
        let place = Sought::of(words).and_then(|sought| sought.place(text));
        assert_eq!(place.and_then(|place| text.get(place)), found, "{words} in {text}");
    }
    let text = format!("{}Needle", "ä".repeat(STEP));
    assert_eq!(
        Sought::of("needle").and_then(|sought| sought.place(&text)),
        Some(2 * STEP..2 * STEP + 6)
    );
}

#[test]
fn a_search_ends_when_nobody_waits() {
    let text = vec![b'a'; 10 * STEP];
    assert_eq!(Sought::of("b").map(|sought| sought.look(&text, &|| false)), Some(None));
}
