use super::*;
use askbus_fuzz::{Material, fuzz_bytes};

#[test]
fn what_agents_write_looks_as_they_mean_it() {
    for (text, expected) in [
        (
            "**Now** or `later`?",
            "<p dir=\"auto\"><strong>Now</strong> or <code>later</code>?</p>",
        ),
        (
            "# Plan\n- a\n- b",
            "<p dir=\"auto\"><strong>Plan</strong></p>\n<ul>\n<li dir=\"auto\">a</li>\n<li dir=\"auto\">b</li>\n</ul>",
        ),
        (
            "one *line*\ntwo",
            "<p dir=\"auto\">one <em>line</em><br>\ntwo</p>",
        ),
        (
            "```rust\nlet a = 1 < 2;\n```",
            "<pre dir=\"ltr\"><code>let a = 1 &lt; 2;\n</code></pre>",
        ),
        (
            "3. c\n4. d",
            "<ol start=\"3\">\n<li dir=\"auto\">c</li>\n<li dir=\"auto\">d</li>\n</ol>",
        ),
    ] {
        let html = block(text).unwrap_or_else(|| panic!("{text:?} is plain"));
        assert_eq!(html, expected, "{text:?}");
    }
    let table = block("| a | b |\n|---|--:|\n| 1 | 2 |").unwrap();
    assert!(
        table.contains("<th dir=\"auto\">a</th>") && !table.contains("style"),
        "{table}"
    );
}

#[test]
fn what_looks_the_same_as_it_is_written_has_no_html() {
    for text in [
        "Which one?",
        "Deploy 2.0 now (today)?\nOr later: tomorrow.",
        "是否部署？",
        "a - b",
    ] {
        assert_eq!((block(text), line(text)), (None, None), "{text:?}");
    }
    assert_eq!(line("Use `serde`").unwrap(), "Use <code>serde</code>");
    // A name of an option is never more than a line, and a target in it is never hidden.
    for text in [
        "- a\n- b",
        "see [docs](https://example.org)",
        "<b>bold</b>",
        "![x](https://a.b/c.png)",
        "a & b",
    ] {
        assert_eq!(line(text), None, "{text:?}");
    }
}

#[test]
fn a_link_shows_where_it_leads() {
    let html = block("[our bank](https://evil.example/pay)").unwrap();
    assert!(html.contains("href=\"https://evil.example/pay\""), "{html}");
    assert!(
        html.contains("<span class=\"target\"> https://evil.example/pay</span>"),
        "{html}"
    );
    assert!(
        html.contains("rel=\"noopener noreferrer nofollow\"") && html.contains("target=\"_blank\""),
        "{html}"
    );
    let bare = block("<https://example.org/>").unwrap();
    assert!(!bare.contains("class=\"target\""), "{bare}");
    // Letters of another alphabet that look like ours.
    let alike = block("[bank](https://\u{430}\u{440}\u{440}le.com/)").unwrap();
    assert!(alike.contains("xn--"), "{alike}");
}

/// Whatever is in it, the HTML holds only these, and nothing that loads or runs.
fn harmless(html: &str) {
    let allowed = [
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "em",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "span",
        "strong",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ];
    for tag in html.split('<').skip(1) {
        let (tag, _) = tag
            .split_once('>')
            .unwrap_or_else(|| panic!("an open tag in {html}"));
        let tag = tag.trim_start_matches('/');
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(allowed.contains(&name), "<{name}> in {html}");
        for attribute in attributes.split("\" ").filter(|a| !a.is_empty()) {
            let (name, value) = attribute
                .split_once("=\"")
                .unwrap_or_else(|| panic!("{attribute} in {html}"));
            assert!(
                ["class", "dir", "href", "rel", "start", "target"].contains(&name),
                "{name} in {html}"
            );
            if name == "href" {
                assert!(
                    SCHEMES.iter().any(|s| value.starts_with(&format!("{s}:"))),
                    "{value} in {html}"
                );
            }
        }
    }
}

#[test]
fn hostile_text_stays_text() {
    for text in [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<!-- hidden --> *shown*",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](//evil.example)",
        "[x](/api/sign-out)",
        "![x](https://evil.example/pixel.png)",
        "[![x](https://evil.example/p.png)](https://evil.example)",
        "<svg/onload=alert(1)> **x**",
        "<a href=\"javascript:alert(1)\" style=\"position:fixed\">*x*</a>",
        "<iframe srcdoc=\"<script>1</script>\"></iframe>\n\n*x*",
        "</p></div><style>*{display:none}</style> **x**",
        "&lt;script&gt; `&amp;`",
        "[x](https://a.example \"onmouseover=alert(1)\")",
        "`<b>` <https://a.example/\"onclick=\"x>",
        "a\u{202e}**gnp.exe**",
        "<details open ontoggle=alert(1)>\n\n*x*\n\n</details>",
    ] {
        let html = block(text).unwrap_or_else(|| panic!("{text:?} is plain"));
        harmless(&html);
        assert!(!html.contains('\u{202e}'), "{html}");
    }
    let comment = block("<!-- hidden --> *shown*").unwrap();
    assert!(
        comment.contains("&lt;!-- hidden --&gt;"),
        "what is hidden is shown: {comment}"
    );
    let image = block("![cat](https://evil.example/cat.png)").unwrap();
    assert!(
        image.contains("cat (https://evil.example/cat.png)"),
        "{image}"
    );
}

#[test]
fn what_would_grow_without_end_is_shown_as_it_was_written() {
    assert_eq!(block(&">".repeat(4_000)), None);
    assert_eq!(block(&format!("{}a", "- ".repeat(2_000))), None);
    let many = Question {
        question: "*a* ".repeat(1_000),
        explanation: Some("[x](https://example.org/aaaaaaaaaaaaaaaaaaaaa) ".repeat(85)),
        ..serde_json::from_value(json!({"id": "q1", "question": "?"})).unwrap()
    };
    let all = of_questions(std::iter::repeat_n(&many, 20));
    assert!(all.to_string().len() < 2 * MAX_BYTES);
    for text in [
        "[".repeat(4_000),
        "*a_".repeat(1_300),
        "`".repeat(4_000),
        "|".repeat(4_000),
        "<".repeat(4_000),
    ] {
        if let Some(html) = block(&text) {
            harmless(&html);
            assert!(html.len() <= MAX_BYTES);
        }
    }
}

#[test]
fn fuzz_markdown() {
    let seeds = [
        "[a](https://b.c) <b> `d`",
        "| a |\n|---|\n| <x> |",
        "> - 1. ```\n&lt;&#x3c;",
        "<!-- a --> ![x](javascript:1 \"y\")",
    ];
    let words = [
        "<script>",
        "](",
        "javascript:",
        "![",
        "```\n",
        "<!--",
        "\u{202e}",
        "&#60;",
        "href=\"",
        "> ",
    ];
    fuzz_bytes!(Material::of(&seeds, &words), |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        for html in [block(&text), line(&text)].into_iter().flatten() {
            harmless(&html);
            assert!(html.len() <= MAX_BYTES);
        }
        if let Some(words) = plain::words(&text) {
            let moves = |c: char| matches!(c, '\n' | '\r' | '\u{202a}'..='\u{202e}');
            assert!(!words.contains(moves), "{words:?}");
        }
    });
}
