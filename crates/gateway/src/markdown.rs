//! What agents write is Markdown; panels show it as HTML that is made here. What is HTML in it stays
//! text, nothing is loaded from anywhere, and a link shows where it leads. The library that writes the
//! HTML is not trusted with that: a second one lets only what is listed here pass.

mod plain;

pub(crate) use plain::of_questions as plain_of_questions;

use ammonia::{Builder, UrlRelative};
use askbus_domain::Question;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Bytes of HTML beside one clarification at most; what is beyond them is shown as it was written.
const MAX_BYTES: usize = 128 * 1024;
/// What is nested deeper is shown as it was written.
const MAX_DEPTH: usize = 24;
/// Where a link may lead.
const SCHEMES: [&str; 3] = ["https", "http", "mailto"];
/// Marks the target of a link.
const TARGET: &str = "<span class=\"target\">";

/// The HTML of all texts of these questions that need any: by question, then `question`, `explanation`
/// and `options`, in which option ids name `label` and `description`.
pub(crate) fn of_questions<'a>(questions: impl IntoIterator<Item = &'a Question>) -> Value {
    let mut left = MAX_BYTES;
    let mut all = Map::new();
    for question in questions {
        let mut parts = Map::new();
        put(&mut parts, &mut left, "question", block(&question.question));
        if let Some(explanation) = &question.explanation {
            put(&mut parts, &mut left, "explanation", block(explanation));
        }
        let mut options = Map::new();
        for option in &question.options {
            let mut words = Map::new();
            put(&mut words, &mut left, "label", line(&option.label));
            if let Some(description) = &option.description {
                put(&mut words, &mut left, "description", line(description));
            }
            if !words.is_empty() {
                options.insert(option.id.to_string(), words.into());
            }
        }
        if !options.is_empty() {
            parts.insert("options".to_owned(), options.into());
        }
        if !parts.is_empty() {
            all.insert(question.id.to_string(), parts.into());
        }
    }
    all.into()
}

fn put(into: &mut Map<String, Value>, left: &mut usize, name: &str, html: Option<String>) {
    if let Some(html) = html
        && let Some(rest) = left.checked_sub(html.len())
    {
        *left = rest;
        into.insert(name.to_owned(), json!(html));
    }
}

/// A whole text; none when it looks the same as it is written.
pub(crate) fn block(text: &str) -> Option<String> {
    if is_plain(text) {
        return None;
    }
    let text = visible(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    render(Parser::new_ext(&text, options).collect())
}

/// A text that stands in a line with others, such as the name of an option: only what changes how
/// words look, and none when there is more or nothing of that in it.
pub(crate) fn line(text: &str) -> Option<String> {
    if is_plain(text) {
        return None;
    }
    let text = visible(text);
    let mut events: Vec<Event> = Parser::new_ext(&text, Options::ENABLE_STRIKETHROUGH).collect();
    let one = matches!(events.first(), Some(Event::Start(Tag::Paragraph)))
        && matches!(events.last(), Some(Event::End(TagEnd::Paragraph)));
    if !one {
        return None;
    }
    events.pop();
    events.remove(0);
    let simple = events.iter().all(|event| {
        matches!(
            event,
            Event::Text(_)
                | Event::Code(_)
                | Event::SoftBreak
                | Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough)
                | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough)
        )
    });
    let styled = events
        .iter()
        .any(|event| matches!(event, Event::Code(_) | Event::Start(_)));
    if simple && styled {
        render(events)
    } else {
        None
    }
}

/// Whether there is nothing in it that Markdown gives a meaning to.
fn is_plain(text: &str) -> bool {
    let marks = ['*', '_', '`', '#', '[', '<', '>', '~', '|', '\\', '&'];
    let begins = |line: &str| {
        line.starts_with(['-', '+', '=', '\t']) || line.starts_with("    ") || {
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            digits.len() < line.len() && digits.starts_with(['.', ')'])
        }
    };
    let mut lines = text.lines();
    !text.contains(marks) && !lines.any(|line| begins(line) || begins(line.trim_start()))
}

/// Characters that turn the direction of what follows could make one word read as another one; they
/// stand as a mark that can be seen.
fn visible(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.replace(turns, "\u{fffd}")
}

/// Where an open link or image leads.
enum Place<'a> {
    /// Somewhere a person may go.
    Link(String, String),
    /// Nowhere: it is shown as text, with the target behind it.
    Text(CowStr<'a>),
}

fn render(events: Vec<Event<'_>>) -> Option<String> {
    let mut out = Vec::with_capacity(events.len());
    let mut places: Vec<Place> = Vec::new();
    let mut depth = 0_usize;
    for event in events {
        match &event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(text) | Event::Code(text) => {
                if let Some(Place::Link(_, said)) = places.last_mut() {
                    said.push_str(text);
                }
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            return None;
        }
        translate(event, &mut places, &mut out);
    }
    let mut written = String::new();
    html::push_html(&mut written, out.into_iter());
    let clean = CLEANER.clean(&written).to_string();
    (clean.len() <= MAX_BYTES).then(|| clean.trim_end().to_owned())
}

fn translate<'a>(event: Event<'a>, places: &mut Vec<Place<'a>>, out: &mut Vec<Event<'a>>) {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => out.push(Event::Text(text)),
        Event::Start(Tag::HtmlBlock) => out.push(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => out.push(Event::End(TagEnd::Paragraph)),
        // Of a card, a heading is a line that stands out, not a part of the page.
        Event::Start(Tag::Heading { .. }) => {
            out.extend([Event::Start(Tag::Paragraph), Event::Start(Tag::Strong)]);
        }
        Event::End(TagEnd::Heading(_)) => {
            out.extend([Event::End(TagEnd::Strong), Event::End(TagEnd::Paragraph)]);
        }
        // Whoever breaks a line means it.
        Event::SoftBreak => out.push(Event::HardBreak),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            id,
            ..
        }) => match destination(&dest_url) {
            Some(target) => {
                out.push(Event::Start(Tag::Link {
                    link_type,
                    dest_url: target.clone().into(),
                    title: CowStr::Borrowed(""),
                    id,
                }));
                places.push(Place::Link(target, String::new()));
            }
            None => places.push(Place::Text(dest_url)),
        },
        Event::Start(Tag::Image { dest_url, .. }) => places.push(Place::Text(dest_url)),
        Event::End(end @ (TagEnd::Link | TagEnd::Image)) => match places.pop() {
            Some(Place::Link(target, said)) => {
                out.push(Event::End(end));
                if said != target && format!("mailto:{said}") != target {
                    out.push(Event::InlineHtml(CowStr::Borrowed(TARGET)));
                    out.push(Event::Text(format!(" {target}").into()));
                    out.push(Event::InlineHtml(CowStr::Borrowed("</span>")));
                }
            }
            Some(Place::Text(target)) => out.push(Event::Text(format!(" ({target})").into())),
            None => {}
        },
        other => out.push(other),
    }
}

/// The address as a browser would ask for it: what looks like another name is spelt out.
fn destination(written: &str) -> Option<String> {
    let address = ammonia::Url::parse(written).ok()?;
    SCHEMES
        .contains(&address.scheme())
        .then(|| address.to_string())
}

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let tags = [
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
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from(tags))
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href"])),
            ("ol", HashSet::from(["start"])),
        ]))
        .allowed_classes(HashMap::from([("span", HashSet::from(["target"]))]))
        .url_schemes(HashSet::from(SCHEMES))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"))
        .strip_comments(true);
    builder.set_tag_attribute_value("a", "target", "_blank");
    for tag in ["blockquote", "li", "p", "td", "th"] {
        builder.set_tag_attribute_value(tag, "dir", "auto");
    }
    // Code has one direction, whatever stands in it.
    builder.set_tag_attribute_value("pre", "dir", "ltr");
    builder
});

#[cfg(test)]
mod tests;
