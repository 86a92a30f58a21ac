//! Checks that the table of accents `src/text/accents.txt` agrees with the Unicode data it is generated from.
//!
//! The table is stored, so that sketches do not change when a crate is updated to a newer Unicode version.
//! `SAMEISH_WRITE_TABLE=1 cargo test -p sameish --test all accents_table` regenerates it. A changed table requires a new scheme:
//! see `analyzer/schemes.rs`.
//!
//! Rules: combining marks of Latin, Greek and Cyrillic, the vowel signs of Arabic and the points of Hebrew are removed, as is the
//! Arabic tatweel. Marks that are part of a letter stay: Cyrillic letters such as й (but not ё, which is often written е), Arabic
//! letters with hamza other than alef, and all marks of other scripts.

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;
use std::fmt::Write;
use unicode_normalization::UnicodeNormalization;

#[test]
fn stored_table_equals_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/text/accents.txt");
    let table = generate();
    if std::env::var_os("SAMEISH_WRITE_TABLE").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    assert!(std::fs::read_to_string(path).unwrap() == table, "see the top of this file");
}

fn generate() -> String {
    let mut table = String::new();
    for c in ('\u{80}'..=char::MAX).filter(|&c| is_letter(c) || is_removed(c)) {
        let before: String = std::iter::once(c).nfkc().collect();
        let after: String = before.chars().map(fold).collect();
        if after != before {
            writeln!(table, "{}", format!("{:04X} {}", c as u32, after.trim()).trim_end()).unwrap();
        }
    }
    table
}

fn fold(c: char) -> String {
    let bare: Vec<char> = std::iter::once(c).nfd().filter(|&c| !is_removed(c)).collect();
    match bare.first() {
        None => String::new(),
        Some(&base) if is_kept(c, base) => c.into(),
        _ => bare.into_iter().nfc().map(replaced).collect(),
    }
}

fn is_letter(c: char) -> bool {
    use GeneralCategory::*;
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    matches!(category, UppercaseLetter | LowercaseLetter | TitlecaseLetter | ModifierLetter | OtherLetter)
}

fn is_removed(c: char) -> bool {
    const RANGES: [(u32, u32); 15] = [
        (0x300, 0x333),
        (0x339, 0x36F),
        (0x483, 0x487),
        (0x591, 0x5C7),
        (0x610, 0x61A),
        (0x64B, 0x65F),
        (0x670, 0x670),
        (0x6D6, 0x6ED),
        (0x898, 0x89F),
        (0x8CA, 0x8FF),
        (0x1AB0, 0x1AFF),
        (0x1DC0, 0x1DFF),
        (0x20F0, 0x20F0),
        (0xFB1E, 0xFB1E),
        (0xFE20, 0xFE2F),
    ];
    let mark = CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::NonspacingMark;
    c == '\u{640}' || mark && RANGES.iter().any(|&(from, to)| (from..=to).contains(&(c as u32)))
}

/// Returns `true` if a letter is not a variant of its base letter.
fn is_kept(c: char, base: char) -> bool {
    match base {
        '\u{400}'..='\u{52F}' => !"ЁёЀѐЍѝ".contains(c),
        '\u{620}'..='\u{6FF}' => base != 'ا' && replaced(c) == String::from(c),
        _ => false,
    }
}

/// Replaces letters that have no decomposition.
fn replaced(c: char) -> String {
    let plain = match c {
        'Ø' => "O",
        'ø' => "o",
        'Đ' => "D",
        'đ' => "d",
        'Ħ' => "H",
        'ħ' => "h",
        'Ł' => "L",
        'ł' => "l",
        'Ŧ' => "T",
        'ŧ' => "t",
        'ı' => "i",
        'Æ' => "AE",
        'æ' => "ae",
        'Œ' => "OE",
        'œ' => "oe",
        'ẞ' => "SS",
        'ß' => "ss",
        '\u{671}' => "ا",
        c => return c.into(),
    };
    plain.into()
}
