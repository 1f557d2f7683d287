//! Named ranks, which decide which of several rules for one field wins.

/// Bands, best first. Among the rules for a field, the first that has a value wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// A key of spanbridge itself.
    Own,
    /// Corrects a key of a shared vocabulary that this client is known to write wrongly.
    Corrects,
    /// The key states the value. Most rules are here.
    Stated,
    /// A second place for the value: a copy, an older name, or a word that several clients use in their own sense.
    Second,
    /// The value is inside something larger, such as a whole request, an input, an output or a map of metadata.
    Inside,
    /// The span's name, or another hint that was not meant as the value.
    Name,
    /// Only the form of a key that no dialect knows.
    Shape,
}

/// Distance between rank bands.
const WIDTH: u16 = 1000;
/// Distance between two dialects within a band, so a rule may be up to this many steps behind the first.
const STEP: u16 = 10;

impl Band {
    /// All bands, best first.
    pub const ALL: [Self; 7] = [
        Self::Own,
        Self::Corrects,
        Self::Stated,
        Self::Second,
        Self::Inside,
        Self::Name,
        Self::Shape,
    ];

    /// The word used in a registry file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Corrects => "corrects",
            Self::Stated => "stated",
            Self::Second => "second",
            Self::Inside => "inside",
            Self::Name => "name",
            Self::Shape => "shape",
        }
    }

    /// The rank of a rule in this band, for the dialect in this place, `behind` steps after the dialect's first rule.
    pub(super) fn rank(self, place: u16, behind: u16) -> u16 {
        (self as u16)
            .saturating_mul(WIDTH)
            .saturating_add(place.saturating_mul(STEP))
            .saturating_add(behind)
    }

    /// Parses a band and its steps from a word such as `inside` or `stated+1`.
    pub(super) fn parse(text: &str) -> Result<(Self, u16), String> {
        let (word, behind) = text.split_once('+').unwrap_or((text, "0"));
        let band = Self::ALL.into_iter().find(|band| band.word() == word);
        let behind = behind.parse().ok().filter(|behind| *behind < STEP);
        match (band, behind) {
            (Some(band), Some(behind)) => Ok((band, behind)),
            (Some(_), None) => Err(format!("no such rank: {text}: a number from 0 to 9 comes after the +")),
            (None, _) => {
                let words: Vec<&str> = Self::ALL.iter().map(|band| band.word()).collect();
                Err(format!("no such rank: {text}: one of {}", words.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_comes_before_the_next_whatever_the_place() {
        for pair in Band::ALL.windows(2) {
            let [first, second] = pair else { continue };
            assert!(first.rank(99, 9) < second.rank(0, 0), "{first:?}");
        }
    }

    #[test]
    fn words_with_and_without_steps() {
        assert_eq!(Band::parse("stated"), Ok((Band::Stated, 0)));
        assert_eq!(Band::parse("inside+2"), Ok((Band::Inside, 2)));
        assert!(Band::parse("stated+10").is_err());
        assert!(Band::parse("first").is_err_and(|problem| problem.contains("own, corrects, stated")));
    }
}
