//! Channels as a gateway is started with them.

use askbus_domain::text_channel::{ChannelLimits, Length, Unit};
use askbus_domain::{PersonId, ProfileId, TenantId};
use askbus_gateway::{ChannelOptions, ChannelPerson, Retries, SigningKey, Target, Way};
use askbus_testkit::{FakeILink, Hook};
use std::time::Duration;

/// Somebody of a channel; `from` is how the chat names them.
pub fn person(from: Option<&str>, subject: &str) -> ChannelPerson {
    ChannelPerson {
        from: from.map(str::to_owned),
        subject: PersonId::new(subject).unwrap(),
        groups: Vec::new(),
    }
}

/// The webhook `team` of tenant local and profile default.
pub fn webhook(hook: &Hook, people: Vec<ChannelPerson>) -> ChannelOptions {
    let way = Way::Webhook {
        target: Target::parse(hook.address()).unwrap(),
        signing: SigningKey::parse(&hook.key()).unwrap(),
    };
    channel("team", people, way)
}

/// The chat `mine` of ann in WeChat. What she is told of her messages is given up soon.
pub fn wechat(fake: &FakeILink) -> ChannelOptions {
    let way = Way::WeChat {
        target: Target::parse(fake.address()).unwrap(),
        bot: fake.bot().to_owned(),
    };
    ChannelOptions {
        retries: SOON,
        ..channel("mine", vec![person(Some(fake.person()), "ann")], way)
    }
}

/// Three attempts, all of them soon.
pub const SOON: Retries = Retries {
    attempts: 3,
    first: Duration::from_millis(20),
    most: Duration::from_millis(50),
};

fn channel(name: &str, people: Vec<ChannelPerson>, way: Way) -> ChannelOptions {
    ChannelOptions {
        name: name.into(),
        tenant: TenantId::new("local").unwrap(),
        profiles: vec![ProfileId::new("default").unwrap()],
        language: None,
        limits: ChannelLimits {
            message: Length {
                most: 2_000,
                unit: Unit::Characters,
            },
            messages: 8,
            buttons: None,
        },
        people,
        way,
        retries: Retries::default(),
    }
}
