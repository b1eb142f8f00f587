//! Questions.

use crate::proto;
use askbus_domain::Question;
use serde_json::json;

impl From<&Question> for proto::Question {
    fn from(question: &Question) -> Self {
        let choice = |o: &askbus_domain::Choice| proto::Choice {
            id: o.id.to_string(),
            label: o.label.clone(),
            description: o.description.clone().unwrap_or_default(),
        };
        Self {
            id: question.id.to_string(),
            header: question.header.clone(),
            question: question.question.clone(),
            multi_select: question.multi_select,
            options: question.options.iter().map(choice).collect(),
            recommended: question
                .recommended
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            explanation: question.explanation.clone().unwrap_or_default(),
            min_select: question.select.and_then(|s| s.min).map(u32::from),
            max_select: question.select.and_then(|s| s.max).map(u32::from),
        }
    }
}

/// The questions of a message; none when they are not ones this build can read.
pub fn questions(list: &[proto::Question]) -> Option<askbus_domain::Questions> {
    let question = |q: &proto::Question| {
        let options: Vec<_> = q
            .options
            .iter()
            .map(|o| {
                let described = Some(&o.description).filter(|d| !d.is_empty());
                json!({"id": o.id, "label": o.label, "description": described})
            })
            .collect();
        let recommended = Some(&q.recommended).filter(|r| !r.is_empty());
        let explanation = Some(&q.explanation).filter(|e| !e.is_empty());
        let bounded = q.min_select.is_some() || q.max_select.is_some();
        let select = bounded.then(|| json!({"min": q.min_select, "max": q.max_select}));
        json!({"id": q.id, "header": q.header, "question": q.question,
            "explanation": explanation, "select": select,
            "multi_select": q.multi_select, "options": options, "recommended": recommended})
    };
    serde_json::from_value(list.iter().map(question).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_survive_the_message() {
        let args = json!({"questions": [{"question": "q", "header": "h", "multi_select": true,
            "explanation": "e", "min_select": 1, "max_select": 2,
            "options": [{"label": "a", "description": "d"}, "b"], "recommended": 1},
            {"question": "r", "multi_select": true, "max_select": 1, "options": ["a", "b"]}]});
        let parsed = askbus_domain::parse_arguments(askbus_domain::Dialect::Ask, &args).unwrap();
        let messages: Vec<proto::Question> = parsed.questions.iter().map(Into::into).collect();
        assert_eq!(
            questions(&messages).as_ref(),
            Some(parsed.questions.as_ref())
        );
    }
}
