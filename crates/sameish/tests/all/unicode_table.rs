//! Checks that the character table `src/text/unicode.bin` agrees with the Unicode data it is generated from.
//!
//! The table is stored, so that sketches do not change when a crate or the compiler is updated to a newer Unicode version.
//! `SAMEISH_WRITE_TABLE=1 cargo test -p sameish --test all unicode_table` regenerates it. A changed table requires a new
//! scheme: increase `text::VERSION`.
use icu_properties::props::{
    DefaultIgnorableCodePoint, GeneralCategory, PrependedConcatenationMark, WordBreak,
};
use icu_properties::{CodePointMapData, CodePointSetData};
use std::collections::HashMap;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

const BLOCK: usize = 64;

// The layout is described in src/text/chars.rs.
const SEPARATOR: u32 = 0;
const DROP: u32 = 1;
const SINGLE: u32 = 13;
const ALPHANUMERIC: u32 = 1 << 4;
const MAYBE_COMPOSES: u32 = 1 << 5;
const SAFE_BREAK: u32 = 1 << 6;

#[test]
fn stored_table_equals_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/text/unicode.bin");
    let table = Builder::default().build();
    if std::env::var_os("SAMEISH_WRITE_TABLE").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let stored = std::fs::read(path).unwrap();
    assert!(stored == table, "the Unicode data of the table has changed: see the top of this file");
}

#[derive(Default)]
struct Builder {
    mappings: HashMap<String, u32>,
    offsets: Vec<u16>,
    pool: String,
}

impl Builder {
    fn build(mut self) -> Vec<u8> {
        self.offsets.push(0);
        self.offsets.push(0);
        let entries: Vec<u32> =
            (0..0x11_0000).map(|c| char::from_u32(c).map_or(SEPARATOR, |c| self.entry(c))).collect();
        let mut index = Vec::<u16>::new();
        let mut blocks = Vec::<&[u32]>::new();
        let mut block_numbers = HashMap::new();
        for block in entries.chunks(BLOCK) {
            let number = *block_numbers.entry(block).or_insert_with(|| {
                blocks.push(block);
                blocks.len() - 1
            });
            index.push(number as u16);
        }
        let mut table = Vec::new();
        for count in [index.len(), blocks.len() * BLOCK, self.offsets.len(), self.pool.len()] {
            table.extend((count as u32).to_le_bytes());
        }
        table.extend(index.iter().flat_map(|x| x.to_le_bytes()));
        table.extend(blocks.iter().copied().flatten().flat_map(|x| x.to_le_bytes()));
        table.extend(self.offsets.iter().flat_map(|x| x.to_le_bytes()));
        table.extend(self.pool.as_bytes());
        table
    }

    fn entry(&mut self, c: char) -> u32 {
        // The compiler and other crates may support a newer Unicode version; its new characters are excluded.
        if CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::Unassigned && !is_dropped(c)
        {
            return SAFE_BREAK;
        }
        if is_dropped(c) {
            return DROP;
        }
        let folded = fold(c);
        if folded.chars().all(is_dropped) {
            return DROP;
        }
        if folded.chars().eq([c]) {
            return properties(c);
        }
        let mapping = self.mapping(&folded);
        let first = folded.chars().next().unwrap();
        // How a character interacts with the preceding one depends on the first character of its mapping.
        properties(first) & (MAYBE_COMPOSES | SAFE_BREAK) | mapping << 16
    }

    fn mapping(&mut self, folded: &str) -> u32 {
        if let Some(&id) = self.mappings.get(folded) {
            return id;
        }
        self.pool.push_str(folded);
        let id = self.offsets.len() as u32 - 1;
        self.offsets.push(u16::try_from(self.pool.len()).unwrap());
        self.mappings.insert(folded.to_owned(), id);
        id
    }
}

/// Folds a character: compatibility decomposition, lower case, canonical composition. Final sigma becomes sigma and the
/// typographic apostrophe becomes the ASCII one.
fn fold(c: char) -> String {
    let lower = std::iter::once(c).nfkd().flat_map(char::to_lowercase);
    let plain = lower.map(|c| match c {
        'ς' => 'σ',
        '\u{2019}' => '\'',
        c => c,
    });
    plain.filter(|&c| !is_dropped(c)).nfc().collect()
}

fn is_dropped(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    let control = category == GeneralCategory::Control && !c.is_whitespace();
    let format = category == GeneralCategory::Format
        && !CodePointSetData::new::<PrependedConcatenationMark>().contains(c);
    control || format || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

fn properties(c: char) -> u32 {
    let ccc = u32::from(canonical_combining_class(c));
    let maybe = is_nfc_quick(std::iter::once(c)) == IsNormalized::Maybe;
    let class = match CodePointMapData::<WordBreak>::new().get(c) {
        WordBreak::ALetter => 2,
        WordBreak::HebrewLetter => 3,
        WordBreak::Numeric => 4,
        WordBreak::Katakana => 5,
        WordBreak::ExtendNumLet => 6,
        WordBreak::MidLetter => 7,
        WordBreak::MidNum => 8,
        WordBreak::MidNumLet => 9,
        WordBreak::SingleQuote => 10,
        WordBreak::DoubleQuote => 11,
        WordBreak::Extend | WordBreak::Format | WordBreak::ZWJ => 12,
        _ if c.is_alphanumeric() => SINGLE,
        _ => SEPARATOR,
    };
    let safe = ccc == 0 && !maybe && matches!(class, SEPARATOR | SINGLE);
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    class
        | flag(c.is_alphanumeric(), ALPHANUMERIC)
        | flag(maybe, MAYBE_COMPOSES)
        | flag(safe, SAFE_BREAK)
        | ccc << 8
}
