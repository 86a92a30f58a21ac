//! Sketch vectors that every interface must reproduce: see `testdata/sketches/README.md`.

use sameish::{Analyzer, Content, Fingerprint, Preset, Scratch, Sdr, Signature, Status};
use serde_json::{Value, json};
use std::path::Path;

fn records(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sketches").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn library_reproduces_the_sketch_vectors() {
    let texts = records("texts.jsonl");
    let mut scratch = Scratch::default();
    for preset in Preset::ALL {
        let analyzer = Analyzer::new(preset.config()).unwrap();
        let expected = records(&format!("{preset}.jsonl"));
        assert_eq!(expected.len(), texts.len());
        for (text, expected) in texts.iter().zip(&expected) {
            let content = Content::Text(text["text"].as_str().unwrap().to_owned());
            let sketches = analyzer.sketch(&content, &mut scratch);
            let status = if sketches.status == Status::Ok { "ok" } else { "too_short" };
            let mut found = json!({ "id": text["id"], "status": status });
            let hex = |signature: &Signature| {
                let bytes = signature.rows().iter().flat_map(|row| row.to_le_bytes());
                bytes.map(|byte| format!("{byte:02x}")).collect::<String>()
            };
            let simhash = sketches.simhash.map(|print: Fingerprint| json!(print.to_string()));
            let minhash = sketches.minhash.as_ref().map(|signature| json!(hex(signature)));
            let sdr = sketches.sdr.as_ref().map(|sdr: &Sdr| json!(sdr.active()));
            for (name, value) in [("simhash", simhash), ("minhash", minhash), ("sdr", sdr)] {
                found.as_object_mut().unwrap().extend(value.map(|value| (name.to_owned(), value)));
            }
            assert_eq!(&found, expected, "{preset}");
        }
    }
}
